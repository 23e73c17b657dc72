"""What is granted, against a plain reading of Kubernetes' documentation: everything is written out, nothing remembered.

Roles and bindings come, change and go in between, so that what `Grants` remembers is proven to be forgotten in time.
"""

from __future__ import annotations

from itertools import product

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.api.access.contract import Attributes
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.rbac.rules import PolicyRule, missing
from fairlead.api.access.users import User
from fairlead.model.kind import Json
from fairlead.store.contract import ADDED, DELETED, MODIFIED
from tests.unit.api.access.granting import change_of
from tests.unit.api.access.rbac.notation import GROUP

# The whole of a small world, written out by the reference. A name beyond those in rules stands for all others.
VERBS, GROUPS, NAMES = ("get", "list"), ("", "apps"), ("", "x", "other")
PLURALS, SUBRESOURCES, SPACES = ("pods", "jobs"), ("", "scale"), ("", "a", "b")
PATHS = ("/m", "/m/x", "/n")
USERS = (
    User("ada", groups=("devs",)),
    User("bob", groups=("devs", "ops")),
    User("system:serviceaccount:a:ci", groups=("system:serviceaccounts",)),
)
THINGS = tuple(product(VERBS, GROUPS, PLURALS, SUBRESOURCES, NAMES))
PATHS_ASKED = set(product(VERBS, PATHS))
ASKED: tuple[tuple[str, ...], ...] = (*THINGS, *sorted(PATHS_ASKED))
_PATTERNS = ("*", *PLURALS, *(f"{each}/{sub}" for each in (*PLURALS, "*") for sub in SUBRESOURCES if sub))
_URLS = ("*", "/*", "/m*", "/m/*", *PATHS)


def _some(values: tuple[str, ...], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3)


RULES = st.one_of(
    st.fixed_dictionaries(
        {"verbs": _some((*VERBS, "*")), "apiGroups": _some((*GROUPS, "*")), "resources": _some(_PATTERNS)},
        optional={"resourceNames": _some(NAMES[:2], 0)},
    ),
    st.fixed_dictionaries({"verbs": _some((*VERBS, "*")), "nonResourceURLs": _some(_URLS)}),
)
_SPACES = st.sampled_from(SPACES)
_ROLE_NAMES = st.sampled_from(("r", "s"))
SUBJECTS = st.one_of(
    st.fixed_dictionaries({"kind": st.just("User"), "name": st.sampled_from(("ada", "bob", USERS[2].name))}),
    st.fixed_dictionaries({"kind": st.just("Group"), "name": st.sampled_from(("devs", "ops", "ada"))}),
    st.fixed_dictionaries(
        {"kind": st.just("ServiceAccount"), "name": st.sampled_from(("ci", "cd"))},
        optional={"namespace": st.sampled_from(("a", "b"))},
    ),
)


@st.composite
def written(draw: st.DrawFn) -> Json:
    """A role or a binding, in a namespace or in none."""
    space = draw(_SPACES)
    metadata = {"name": draw(_ROLE_NAMES), **({"namespace": space} if space else {})}
    if draw(st.booleans()):
        kind = "Role" if space else "ClusterRole"
        return {"kind": kind, "metadata": metadata, "rules": draw(st.lists(RULES, min_size=1, max_size=3))}
    kinds = ("Role", "ClusterRole") if space else ("ClusterRole",)
    reference = {"apiGroup": GROUP, "kind": draw(st.sampled_from(kinds)), "name": draw(_ROLE_NAMES)}
    return {
        "kind": "RoleBinding" if space else "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": reference,
        "subjects": draw(st.lists(SUBJECTS, max_size=3)),
    }


# Most worlds that are drawn from nothing grant nothing: these begin with grants, and mostly add to them.
BEGINNING: tuple[Json, ...] = (
    {
        "kind": "ClusterRole",
        "metadata": {"name": "r"},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["*"]}],
    },
    {
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "a"},
        "rules": [{"verbs": ["list"], "apiGroups": ["*"], "resources": ["pods", "*/scale"]}],
    },
    *(
        {
            "kind": "RoleBinding" if space else "ClusterRoleBinding",
            "metadata": {"name": "r", "namespace": space},
            "roleRef": {"apiGroup": GROUP, "kind": kind, "name": "r"},
            "subjects": [{"kind": "Group", "name": "devs"}, {"kind": "ServiceAccount", "name": "ci"}],
        }
        for space, kind in (("", "ClusterRole"), ("a", "Role"), ("b", "ClusterRole"))
    ),
)
STEPS = st.lists(st.tuples(written(), st.sampled_from((False, False, False, True))), min_size=1, max_size=6)

Thing = tuple[str, ...]


def _expanded(rule: Json) -> set[Thing]:
    """Every single thing of the world that a rule allows."""
    verbs = set(VERBS) if "*" in rule["verbs"] else set(rule["verbs"])
    if "nonResourceURLs" in rule:
        return {(v, p) for v in verbs for url in rule["nonResourceURLs"] for p in PATHS if _url(url, p)}
    allowed: set[Thing] = set()
    for verb, group, plural, sub, name in THINGS:
        whole = f"{plural}/{sub}" if sub else plural
        resources = rule["resources"]
        named = "*" in resources or whole in resources or (sub and f"*/{sub}" in resources)
        in_group = "*" in rule["apiGroups"] or group in rule["apiGroups"]
        names = rule.get("resourceNames") or NAMES
        if verb in verbs and in_group and named and name in names:
            allowed.add((verb, group, plural, sub, name))
    return allowed


def _url(said: str, path: str) -> bool:
    return path.startswith(said[:-1]) if said.endswith("*") else path == said


def _means(subject: Json, user: User, space: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == user.name)
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    where = subject.get("namespace") or space
    return user.name == f"system:serviceaccount:{where}:{subject['name']}" and bool(where)


class Reference:
    """All objects, looked through anew for each question."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Json] = {}

    def rules_in(self, user: User, space: str) -> list[Json]:
        found = []
        for (kind, where, _), obj in self.objects.items():
            if not kind.endswith("Binding") or where not in ("", space):
                continue
            if any(_means(subject, user, where) for subject in obj["subjects"]):
                reference = obj["roleRef"]
                at = (reference["kind"], where if reference["kind"] == "Role" else "", reference["name"])
                for rule in self.objects.get(at, {"rules": ()})["rules"]:
                    if "nonResourceURLs" not in rule or not where:
                        found.append(rule)
        return found

    def allowed(self, user: User, space: str) -> set[Thing]:
        within = {thing for rule in self.rules_in(user, space) for thing in _expanded(rule) if len(thing) > 2}
        paths = {thing for rule in self.rules_in(user, "") for thing in _expanded(rule) if len(thing) == 2}
        return within | paths


def _asked(user: User, space: str, thing: Thing) -> Attributes:
    if len(thing) == 2:
        return Attributes(user, thing[0], path=thing[1])
    verb, group, plural, sub, name = thing
    return Attributes(user, verb, group, "v1", plural, sub, space, name)


def _key(obj: Json) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@settings(deadline=None, max_examples=50)
@given(STEPS)
def test_grants_are_those_of_the_objects_that_there_are(steps: list[tuple[Json, bool]]) -> None:
    grants, reference = Grants(), Reference()
    for obj, remove in (*((each, False) for each in BEGINNING), *steps):
        key = _key(obj)
        type_ = DELETED if remove else MODIFIED if key in reference.objects else ADDED
        assert grants.observe([change_of(obj, type_)]) == []
        if remove:
            reference.objects.pop(key, None)
        else:
            reference.objects[key] = obj
        for user, space in product(USERS, SPACES):
            expected = reference.allowed(user, space)
            for what in ("first", "remembered"):
                told = {each for each in ASKED if grants.authorize(_asked(user, space, each)).allowed}
                assert told == expected, (what, user, space)
            held = {thing for rule in grants.rules_held(user, space) for thing in _expanded(_plain(rule))}
            assert held - PATHS_ASKED == expected - PATHS_ASKED


def _plain(rule: PolicyRule) -> Json:
    return {field: value for field, value in msgspec.to_builtins(rule).items() if value}


def _atoms(rule: Json) -> list[Json]:
    if "nonResourceURLs" in rule:
        return [
            {"verbs": [v], "nonResourceURLs": [u]} for v in rule["verbs"] for u in rule["nonResourceURLs"]
        ]
    atoms = []
    for group, what, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"]):
        plain = {"verbs": [verb], "apiGroups": [group], "resources": [what]}
        atoms += [{**plain, "resourceNames": [name]} for name in rule.get("resourceNames") or ()] or [plain]
    return atoms


def _as_words(rule: Json) -> set[Thing]:
    """What a rule allows, with * and patterns as words of their own: whoever grants * must have it, not merely all that
    there is today."""
    found: set[Thing] = set()
    verbs = (*VERBS, "*") if "*" in rule["verbs"] else rule["verbs"]
    if "nonResourceURLs" in rule:
        for verb, url, word in product(verbs, rule["nonResourceURLs"], _URLS):
            if word == url or (url.endswith("*") and word.startswith(url[:-1])):
                found.add((verb, word))
        return found
    groups = (*GROUPS, "*") if "*" in rule["apiGroups"] else rule["apiGroups"]
    names = rule.get("resourceNames") or (*NAMES, "any")
    for verb, group, word, name in product(verbs, groups, _PATTERNS, names):
        sub = word.partition("/")[2]
        said = rule["resources"]
        if "*" in said or word in said or (sub and f"*/{sub}" in said):
            found.add((verb, group, word, name))
    return found


def _atom_word(atom: Json) -> Thing:
    if "nonResourceURLs" in atom:
        return atom["verbs"][0], atom["nonResourceURLs"][0]
    name = (atom.get("resourceNames") or ["any"])[0]
    return atom["verbs"][0], atom["apiGroups"][0], atom["resources"][0], name


@settings(deadline=None)
@given(st.lists(RULES, max_size=4), st.lists(RULES, max_size=3))
def test_what_is_missing_is_every_single_right_that_no_rule_has(
    owned: list[Json], wanted: list[Json]
) -> None:
    have = set().union(*(_as_words(rule) for rule in owned))
    expected = {_atom_word(atom) for rule in wanted for atom in _atoms(rule)} - have
    rules, wishes = (msgspec.convert(each, list[PolicyRule]) for each in (owned, wanted))
    assert {_atom_word(_plain(each)) for each in missing(rules, wishes)} == expected
