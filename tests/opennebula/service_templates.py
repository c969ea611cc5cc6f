# SPDX-License-Identifier: GPL-3.0-or-later
"""Service templates in the 7.x form: validation and what instantiation makes of them."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from tests.opennebula.expressions import ExpressionError, parse_expression
from tests.opennebula.oneflow_errors import BadRequest


class ValidationError(Exception):
    """The template is refused; the text is OneFlow's answer."""


_POLICY_KINDS = ["CHANGE", "CARDINALITY", "PERCENTAGE_CHANGE"]
_SHUTDOWN_ACTIONS = ["terminate", "terminate-hard", "shutdown", "shutdown-hard"]

_NATURAL = {"type": "integer", "minimum": 0}
_OBJECT = {"type": "object", "properties": {}}

_ELASTICITY_POLICY = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": _POLICY_KINDS, "required": True},
        "adjust": {"type": "integer", "required": True},
        "min_adjust_step": {"type": "integer", "minimum": 1},
        "period_number": _NATURAL,
        "period": _NATURAL,
        "expression": {"type": "string", "required": True},
        "cooldown": _NATURAL,
    },
}

_SCHEDULED_POLICY = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": _POLICY_KINDS, "required": True},
        "adjust": {"type": "integer", "required": True},
        "min_adjust_step": {"type": "integer", "minimum": 1},
        "start_time": {"type": "string"},
        "recurrence": {"type": "string"},
    },
}

_ROLE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "required": True, "regexp": r"^\w+$"},
        "type": {"type": "string", "enum": ["vm"], "required": True},
        "cardinality": {"type": "integer", "minimum": 0, "default": 0},
        "template_id": {"type": "integer", "required": True},
        "template_contents": _OBJECT,
        "user_inputs": _OBJECT,
        "user_inputs_values": _OBJECT,
        "parents": {"type": "array", "items": {"type": "string"}},
        "shutdown_action": {"type": "string", "enum": _SHUTDOWN_ACTIONS},
        "min_vms": _NATURAL,
        "max_vms": _NATURAL,
        "cooldown": _NATURAL,
        "on_hold": {"type": "boolean"},
        "elasticity_policies": {"type": "array", "items": _ELASTICITY_POLICY},
        "scheduled_policies": {"type": "array", "items": _SCHEDULED_POLICY},
    },
}

_SERVICE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "required": True},
        "deployment": {"type": "string", "enum": ["none", "straight"], "default": "none"},
        "description": {"type": "string", "default": ""},
        "shutdown_action": {"type": "string", "enum": _SHUTDOWN_ACTIONS},
        "roles": {"type": "array", "items": None, "required": True},
        "user_inputs": _OBJECT,
        "user_inputs_values": _OBJECT,
        "ready_status_gate": {"type": "boolean"},
        "automatic_deletion": {"type": "boolean"},
        "networks": _OBJECT,
        "networks_values": {"type": "array", "items": _OBJECT},
        "on_hold": {"type": "boolean"},
    },
}


def _check(value: Any, schema: Mapping[str, Any], key: str) -> Any:
    kind = schema["type"]
    if kind == "object":
        return _check_object(value, schema, key)
    if kind == "array":
        if not isinstance(value, list):
            raise ValidationError(f"KEY: '{key}' must be an Array;")
        return value if schema["items"] is None else [_check(item, schema["items"], key) for item in value]
    if kind == "integer":
        return _check_integer(value, schema, key)
    if kind == "boolean":
        if not isinstance(value, bool):
            raise ValidationError(f"KEY: '{key}' is not allowed;")
        return value
    return _check_string(value, schema, key)


def _check_object(value: Any, schema: Mapping[str, Any], key: str) -> Any:
    if not isinstance(value, dict):
        raise ValidationError(f"KEY: {key} must be a Hash; SCHEMA:")
    for name, member in schema["properties"].items():
        if value.get(name) is not None and value[name] is not False:
            value[name] = _check(value[name], member, name)
        elif member.get("required"):
            raise ValidationError(f"KEY: '{name}' is required;")
        elif member.get("default") is not None:
            value[name] = member["default"]
    return value


def _check_integer(value: Any, schema: Mapping[str, Any], key: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ValidationError(f"KEY: '{key}' must be an Integer;") from None
    if "minimum" in schema and number < schema["minimum"]:
        raise ValidationError(f"KEY: '{key}' must be greater than or equal to {schema['minimum']};")
    return number


def _check_string(value: Any, schema: Mapping[str, Any], key: str) -> str:
    if not isinstance(value, str):
        raise ValidationError(f"KEY: '{key}' must be a String;")
    if "enum" in schema and value not in schema["enum"]:
        raise ValidationError(f"KEY: '{key}' must be one of {', '.join(schema['enum'])};")
    # ^ and $ stand for the ends of a line there
    if "regexp" in schema and not re.search(schema["regexp"], value, re.ASCII | re.MULTILINE):
        raise ValidationError(f"KEY: '{key}' must match regexp /{schema['regexp']}/;")
    return value


def validate(template: Mapping[str, Any]) -> dict[str, Any]:
    """A checked copy with defaults filled in and numbers given as text converted.

    Unknown keys are kept. Not checked, as in OneFlow: whether a parent exists.

    :raises ValidationError: with OneFlow's text.
    """
    checked = copy.deepcopy(dict(template))
    _check(checked, _SERVICE, "")
    for role in checked["roles"]:
        validate_role(role)
    for index, role in enumerate(checked["roles"]):
        if any(role["name"] == other["name"] for other in checked["roles"][index + 1 :]):
            raise ValidationError(f"Role name '{role['name']}' is repeated")
        _check_role_numbers(role)
        _check_expressions(role)
        _check_schedules(role)
    return checked


def validate_role(role: dict[str, Any]) -> None:
    """Check one role and fill in its defaults; roles of virtual routers are not simulated.

    :raises ValidationError: with OneFlow's text.
    """
    if isinstance(role, dict) and role.get("type", "vm") != "vm":
        raise ValidationError(f'Unsupported role type "{role["type"]}"')
    _check(role, _ROLE, "")


def _check_role_numbers(role: Mapping[str, Any]) -> None:
    name, minimum, maximum = role["name"], role.get("min_vms"), role.get("max_vms")
    if minimum is not None and minimum > role["cardinality"]:
        raise ValidationError(f"Role '{name}' 'cardinality' must be greater than or equal to 'min_vms'")
    if maximum is not None and maximum < role["cardinality"]:
        raise ValidationError(f"Role '{name}' 'cardinality' must be lower than or equal to 'max_vms'")
    has_policies = role.get("elasticity_policies") or role.get("scheduled_policies")
    if has_policies and (minimum is None or maximum is None):
        raise ValidationError(
            f"Role '{name}' with  'elasticity_policies' or 'scheduled_policies'must define both 'min_vms' and 'max_vms'"
        )


def _check_expressions(role: Mapping[str, Any]) -> None:
    for index, policy in enumerate(role.get("elasticity_policies") or []):
        where = f"Role '{role['name']}', elasticity policy #{index} 'expression'"
        if not policy["expression"]:
            raise ValidationError(f"{where} cannot be empty")
        try:
            parse_expression(policy["expression"])
        except ExpressionError as error:
            raise ValidationError(f"{where} parse error: {error}") from error


def _check_schedules(role: Mapping[str, Any]) -> None:
    for index, policy in enumerate(role.get("scheduled_policies") or []):
        where = f"Role '{role['name']}', scheduled policy #{index}"
        given = [name for name in ("start_time", "recurrence") if policy.get(name) is not None]
        if len(given) == 2:
            raise ValidationError(f"{where} must define 'start_time' or 'recurrence', but not both")
        if not given:
            raise ValidationError(f"{where} needs to define either 'start_time' or 'recurrence'")


def deep_merge(base: Any, extra: Any) -> Any:
    """``extra`` over ``base``: objects member by member, lists item by item while both items are objects."""
    merged = dict(base)
    for key, value in extra.items():
        old = merged.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            merged[key] = deep_merge(old, value)
        elif isinstance(value, list) and isinstance(old, list):
            merged[key] = _merge_lists(old, value)
        else:
            merged[key] = value
    return merged


def _merge_lists(base: list[Any], extra: list[Any]) -> list[Any]:
    merged = list(base)
    for index, item in enumerate(extra):
        old = base[index] if index < len(base) else None
        if isinstance(item, dict) and isinstance(old, dict):
            merged[index] = deep_merge(old, item)
        else:
            merged = list(extra)
    return merged


def merge_for_instance(template: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The service's body before it is checked: roles are merged by name, everything else by position."""
    merged = copy.deepcopy(dict(template))
    rest = copy.deepcopy(dict(extra))
    for wanted in rest.pop("roles", None) or []:
        for index, role in enumerate(merged["roles"]):
            if role["name"] == wanted.get("name"):
                merged["roles"][index] = deep_merge(role, wanted)
    return deep_merge(merged, rest)


def check_inputs(body: Mapping[str, Any]) -> None:
    """Every declared user input needs a value, also an optional one.

    :raises BadRequest: (the text is ours, it was not measured).
    """
    values = body.get("user_inputs_values") or {}
    missing = [name for name in body.get("user_inputs") or {} if name not in values]
    for role in body["roles"]:
        own = role.get("user_inputs_values") or {}
        missing += [name for name in role.get("user_inputs") or {} if name not in own]
    if missing:
        raise BadRequest(f"Every user input needs a value, there is none for: {', '.join(missing)}")


def networks_values(template: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """``{"networks_values": [...]}`` for the networks of a template, from its own specifications
    (``M|network|text| |id:7``) when the request brings none; empty without networks.

    :raises BadRequest: for a network without a value, and for values in another form.
    """
    networks = template.get("networks")
    values = extra.get("networks_values")
    if networks and not isinstance(networks, Mapping):
        raise BadRequest("Wrong networks format")
    if networks and values is None:
        values = []
        for name, specification in networks.items():
            try:
                kind, _, identity = specification.split("|")[4].strip().partition(":")
            except (AttributeError, IndexError):
                raise BadRequest("Wrong networks format") from None
            values.append({name: {kind: identity}})
    if values is None:
        return {}
    if not all(isinstance(value, Mapping) for value in values):
        raise BadRequest("Wrong networks_values format")
    if set(networks or {}) - {name for value in values for name in value}:
        raise BadRequest("Every network key must have its value defined at networks_value")
    return {"networks_values": values}


def network_ids(body: Mapping[str, Any]) -> list[int]:
    """Ids of the networks a service uses; what is no number is 0."""
    given = [str(network["id"]) for value in body.get("networks_values") or [] for network in value.values()]
    return [int(text) if text.isdigit() else 0 for text in given]


def network_to_make(body: Mapping[str, Any]) -> str | None:
    """The first network that OneFlow would have to make or reserve, None when all exist."""
    for value in body.get("networks_values") or []:
        for name, network in value.items():
            if "id" not in network:
                return name
    return None


def resolve_networks(nics: list[Any], networks_values: list[Any]) -> list[Any]:
    """``NETWORK_ID: "$Compute"`` becomes the id given for the network Compute."""
    resolved = copy.deepcopy(nics)
    for nic in resolved:
        reference = re.search(r"\$(\w+)", str(nic.get("NETWORK_ID") or ""))
        if reference:
            for values in networks_values:
                if reference.group(1) in values:
                    nic["NETWORK_ID"] = str(values[reference.group(1)]["id"])
                    break
    return resolved


def fill_template_contents(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """``template_contents`` of every role with networks and user inputs written in.

    An input becomes an attribute and a reference to it in CONTEXT; a role's own value wins over the service's.
    """
    filled: list[dict[str, Any]] = []
    for role in body["roles"]:
        contents = copy.deepcopy(role.get("template_contents") or {})
        if contents.get("NIC"):
            contents["NIC"] = resolve_networks(contents["NIC"], body.get("networks_values") or [])
        inputs = deep_merge(body.get("user_inputs_values") or {}, role.get("user_inputs_values") or {})
        for name, value in inputs.items():
            contents[name] = value
            contents.setdefault("CONTEXT", {})[name] = f"${name}"
        filled.append(contents)
    return filled
