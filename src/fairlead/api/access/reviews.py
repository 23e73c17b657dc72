"""Questions about access, asked as objects that are answered and never stored.

`kubectl auth whoami`, `auth can-i` and `auth can-i --list` POST these. The request pipeline authorizes the
POST itself (all may ask about themselves, admins about anyone), then calls `review`. `REVIEWS` is
their discovery data. Body in, body out with `status` filled; nothing is read but the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.api.access.contract import AccessRules, Attributes, Authorizer
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import User, user_info
from fairlead.core.errors import BadRequest, Unauthorized
from fairlead.core.times import timestamp
from fairlead.model.kind import Json

AUTHENTICATION, AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"
VERSION = "v1"


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """Everything an answer may rest on. `spec` is the body's spec."""

    user: User
    authorizer: Authorizer
    sign_in: SignIn
    now: float
    spec: Mapping[str, Any]
    namespace: str = ""  # of the address it was sent to


@dataclass(frozen=True, slots=True)
class Review:
    """One kind of question: its discovery data, and who answers it."""

    group: str
    kind: str
    plural: str
    answer: Callable[[ReviewRequest], Json]
    version: str = VERSION
    about_oneself: bool = False  # anyone signed in may ask
    has_spec: bool = True
    namespaced: bool = False
    verbs: tuple[str, ...] = ("create",)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


def review(
    question: Review,
    body: Json,
    user: User,
    authorizer: Authorizer,
    sign_in: SignIn,
    now: float,
    namespace: str = "",
) -> Json:
    """The body with its status filled in. BadRequest if it is not the kind of question the path says."""
    for field, expected in (("kind", question.kind), ("apiVersion", question.api_version)):
        if body.get(field, expected) != expected:
            raise BadRequest(
                f"{field} is {body[field]!r}, but this path takes {expected!r}: send that, or omit it"
            )
    spec = _mapping(body, "spec", "")
    status = question.answer(ReviewRequest(user, authorizer, sign_in, now, spec, namespace))
    metadata = {"creationTimestamp": timestamp(now)}
    if namespace:
        metadata["namespace"] = namespace
    answered: Json = {"kind": question.kind, "apiVersion": question.api_version, "metadata": metadata}
    if question.has_spec:
        # A token that was asked about is not sent back, so that no log of answers holds it.
        answered["spec"] = {key: value for key, value in spec.items() if key != "token"}
    answered["status"] = status
    return answered


def _who_am_i(asked: ReviewRequest) -> Json:
    return {"userInfo": user_info(asked.user)}


def _can_i(asked: ReviewRequest) -> Json:
    return _access(asked, asked.user)


def _can_someone(asked: ReviewRequest) -> Json:
    name = asked.spec.get("user") or ""
    groups = asked.spec.get("groups") or []
    if not name and not groups:
        raise BadRequest("spec.user or spec.groups is required: name whose access is asked about")
    if not isinstance(name, str) or not _strings(groups):
        raise BadRequest("spec.user must be a string and spec.groups a list of strings")
    return _access(asked, User(name, groups=tuple(groups)))


def _can_someone_here(asked: ReviewRequest) -> Json:
    attributes = _mapping(asked.spec, "resourceAttributes", "spec.")
    if not attributes or _text(attributes, "namespace") != asked.namespace:
        raise BadRequest(
            f'spec.resourceAttributes.namespace must be "{asked.namespace}", to which the question was sent'
        )
    return _can_someone(asked)


def _access(asked: ReviewRequest, subject: User) -> Json:
    verdict = asked.authorizer.authorize(_attributes(asked.spec, subject, asked.now))
    status: Json = {"allowed": verdict.allowed}
    if verdict.decision == "denied":
        status["denied"] = True
    if verdict.reason:
        status["reason"] = verdict.reason
    return status


def _my_rules(asked: ReviewRequest) -> Json:
    return _rules_status(asked.authorizer.rules_for(asked.user, _text(asked.spec, "namespace")))


def _rules_status(rules: AccessRules) -> Json:
    resources = []
    for rule in rules.resources:
        shown = {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
        if rule.names:
            shown["resourceNames"] = list(rule.names)
        resources.append(shown)
    status: Json = {
        "resourceRules": resources,
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)} for rule in rules.paths
        ],
        "incomplete": bool(rules.incomplete),
    }
    if rules.incomplete:
        status["evaluationError"] = rules.incomplete
    return status


def _whose_token(asked: ReviewRequest) -> Json:
    token = asked.spec.get("token")
    if not isinstance(token, str) or not token:
        raise BadRequest("spec.token is required: the token to be looked up, as a string")
    audiences = asked.spec.get("audiences") or []
    if not _strings(audiences):
        raise BadRequest("spec.audiences must be a list of strings")
    try:
        user, meant = asked.sign_in.review(token, asked.now, tuple(audiences))
    except Unauthorized as error:
        return {"authenticated": False, "user": {}, "error": str(error)}
    return {"authenticated": True, "user": user_info(user), "audiences": list(meant)}


def _attributes(spec: Mapping[str, Any], subject: User, now: float) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        raise BadRequest("exactly one of spec.resourceAttributes and spec.nonResourceAttributes is required")
    if path is not None:
        asked = _mapping(spec, "nonResourceAttributes", "spec.")
        return Attributes(subject, _text(asked, "verb"), path=_text(asked, "path"))
    asked = _mapping(spec, "resourceAttributes", "spec.")
    return Attributes(
        subject,
        _text(asked, "verb"),
        group=_text(asked, "group"),
        version=_text(asked, "version"),
        plural=_text(asked, "resource"),
        subresource=_text(asked, "subresource"),
        namespace=_text(asked, "namespace"),
        name=_text(asked, "name"),
        field_selector=_selector(asked, "fieldSelector"),
        label_selector=_selector(asked, "labelSelector"),
        now=now,
    )


def _selector(asked: Mapping[str, Any], field: str) -> str:
    """The selector a review asks about, as the text a request would carry."""
    selector = _mapping(asked, field, "spec.resourceAttributes.")
    raw = _text(selector, "rawSelector")
    requirements = selector.get("requirements") or ()
    if raw or not isinstance(requirements, list):
        return raw
    parts = []
    for requirement in requirements:
        values = requirement.get("values") if isinstance(requirement, dict) else None
        if isinstance(values, list) and len(values) == 1 and requirement.get("operator") == "In":
            parts.append(f"{requirement.get('key')}={values[0]}")
    return ",".join(parts)


def _mapping(body: Mapping[str, Any], field: str, above: str) -> Mapping[str, Any]:
    value = body.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadRequest(f"{above}{field} must be an object, not {type(value).__name__}")
    return value


def _text(body: Mapping[str, Any], field: str) -> str:
    value = body.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRequest(f"{field} must be a string, not {type(value).__name__}")
    return value


def _strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


REVIEWS: tuple[Review, ...] = (
    Review(
        AUTHENTICATION,
        "SelfSubjectReview",
        "selfsubjectreviews",
        _who_am_i,
        about_oneself=True,
        has_spec=False,
    ),
    Review(AUTHENTICATION, "TokenReview", "tokenreviews", _whose_token),
    Review(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", _can_i, about_oneself=True),
    Review(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", _my_rules, about_oneself=True),
    Review(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", _can_someone),
    Review(
        AUTHORIZATION,
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        _can_someone_here,
        namespaced=True,
    ),
)


def find_review(group: str, version: str, plural: str) -> Review | None:
    """The review a path names, or None."""
    for question in REVIEWS:
        if (question.group, question.version, question.plural) == (group, version, plural):
            return question
    return None
