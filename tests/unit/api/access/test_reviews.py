"""Questions about access, as kubectl asks them."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.account_tokens import AccountTokens
from fairlead.api.access.authn import Tokens, token_digest
from fairlead.api.access.contract import AccessRules, AccessVerdict, Attributes, PathRule, ResourceRule
from fairlead.api.access.reviews import REVIEWS, find_review, review
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import User
from fairlead.core.errors import BadRequest
from tests.unit.api.access.granting import Objects

ALICE = User("alice", uid="u-1", groups=("devs",), extra=(("scopes", ("a", "b")),))
SIGN_IN = SignIn(Tokens({token_digest("t0ken"): ALICE}), AccountTokens(Objects(), b"key"))


class Remembers:
    """Allows reading, remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Attributes] = []

    def authorize(self, asked: Attributes) -> AccessVerdict:
        self.asked.append(asked)
        return (
            AccessVerdict("allowed", "may read")
            if asked.verb == "get"
            else AccessVerdict("denied", "may not")
        )

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        rule = ResourceRule(("get",), ("",), ("pods",), ("web",))
        return AccessRules(
            (rule, ResourceRule(("list",), ("apps",), ("deployments",))),
            (PathRule(("get",), ("/api",)),),
            "x",
        )


def ask(plural: str, spec: Any = None, authorizer: Remembers | None = None) -> dict[str, Any]:
    question = next(r for r in REVIEWS if r.plural == plural)
    body: dict[str, Any] = {"kind": question.kind, "apiVersion": question.api_version}
    if spec is not None:
        body["spec"] = spec
    return review(question, body, ALICE, authorizer or Remembers(), SIGN_IN, 0.0)


def test_whoami() -> None:
    answer = ask("selfsubjectreviews")
    assert answer == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "1970-01-01T00:00:00Z"},
        "status": {
            "userInfo": {
                "username": "alice",
                "uid": "u-1",
                "groups": ["devs"],
                "extra": {"scopes": ["a", "b"]},
            }
        },
    }


def test_can_i_passes_every_attribute_on_and_answers_with_the_reason() -> None:
    attributes = {
        "verb": "get",
        "group": "apps",
        "version": "v1",
        "resource": "deployments",
        "subresource": "scale",
        "namespace": "ns",
        "name": "web",
        "fieldSelector": {"rawSelector": "metadata.name=web"},
        "labelSelector": {"requirements": [{"key": "app", "operator": "In", "values": ["web"]}]},
    }
    authorizer = Remembers()
    answer = ask("selfsubjectaccessreviews", {"resourceAttributes": attributes}, authorizer)
    assert answer["status"] == {"allowed": True, "reason": "may read"}
    assert answer["spec"] == {"resourceAttributes": attributes}
    expected = Attributes(
        user=ALICE,
        verb="get",
        group="apps",
        version="v1",
        plural="deployments",
        subresource="scale",
        namespace="ns",
        name="web",
        path="",
        field_selector="metadata.name=web",
        label_selector="app=web",
    )
    assert authorizer.asked == [expected]


def test_a_selector_requirement_that_cannot_be_said_in_text_grants_nothing() -> None:
    selector = {"requirements": [{"key": "spec.nodeName", "operator": "NotIn", "values": ["n1"]}]}
    authorizer = Remembers()
    attributes = {"verb": "list", "resource": "pods", "fieldSelector": selector}
    ask("selfsubjectaccessreviews", {"resourceAttributes": attributes}, authorizer)
    assert authorizer.asked[0].field_selector == ""


def test_can_i_not() -> None:
    answer = ask("selfsubjectaccessreviews", {"nonResourceAttributes": {"verb": "post", "path": "/api"}})
    assert answer["status"] == {"allowed": False, "denied": True, "reason": "may not"}


def test_can_someone_else() -> None:
    authorizer = Remembers()
    spec = {"user": "bob", "groups": ["ops"], "resourceAttributes": {"verb": "get", "resource": "pods"}}
    assert ask("subjectaccessreviews", spec, authorizer)["status"]["allowed"]
    assert authorizer.asked[0].user == User("bob", groups=("ops",))


def test_my_rules() -> None:
    assert ask("selfsubjectrulesreviews", {"namespace": "default"})["status"] == {
        "resourceRules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["web"]},
            {"verbs": ["list"], "apiGroups": ["apps"], "resources": ["deployments"]},
        ],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/api"]}],
        "incomplete": True,
        "evaluationError": "x",
    }


def test_a_token_review_says_whose_it_is_and_does_not_repeat_the_token() -> None:
    known = ask("tokenreviews", {"token": "t0ken"})
    assert known["status"]["authenticated"]
    assert known["status"]["user"]["username"] == "alice"
    unknown = ask("tokenreviews", {"token": "gu3ss"})
    assert not unknown["status"]["authenticated"]
    assert "t0ken" not in str(known)
    assert "gu3ss" not in str(unknown)


RESOURCE = {"verb": "get", "resource": "pods"}


@pytest.mark.parametrize(
    ("plural", "spec", "told"),
    [
        ("selfsubjectaccessreviews", None, "exactly one of"),
        (
            "selfsubjectaccessreviews",
            {"resourceAttributes": RESOURCE, "nonResourceAttributes": {"path": "/"}},
            "exactly one of",
        ),
        (
            "selfsubjectaccessreviews",
            {"resourceAttributes": "pods"},
            "spec.resourceAttributes must be an object",
        ),
        ("selfsubjectaccessreviews", {"resourceAttributes": {"verb": 1}}, "verb must be a string"),
        ("selfsubjectaccessreviews", "text", "spec must be an object"),
        ("subjectaccessreviews", {"resourceAttributes": RESOURCE}, "spec.user or spec.groups is required"),
        (
            "subjectaccessreviews",
            {"user": "a", "groups": [1], "resourceAttributes": RESOURCE},
            "list of strings",
        ),
        ("subjectaccessreviews", {"user": 1, "resourceAttributes": RESOURCE}, "must be a string"),
        ("tokenreviews", {}, "spec.token is required"),
    ],
)
def test_a_malformed_question_is_told_which_field_is_wrong(plural: str, spec: Any, told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        ask(plural, spec)


@pytest.mark.parametrize("field", ["kind", "apiVersion"])
def test_a_question_of_another_kind_is_refused(field: str) -> None:
    with pytest.raises(BadRequest, match=f"{field} is 'Pod'"):
        review(REVIEWS[0], {field: "Pod"}, ALICE, Remembers(), SIGN_IN, 0.0)


def test_discovery_finds_each_review_by_its_path() -> None:
    for question in REVIEWS:
        assert find_review(question.group, "v1", question.plural) is question
        assert question.verbs == ("create",)
    assert find_review("authorization.k8s.io", "v2", "selfsubjectaccessreviews") is None
