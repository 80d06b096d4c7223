"""Retry policies, as the server reads them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._values import Bytes, Duration, seconds
from .errors import ConfigurationError

_CAUSES = {
    "oom": "OOM_KILLED",
    "exit": "KERNEL_NONZERO_EXIT",
    "hung": "HUNG",
    "agent": "AGENT_TRANSIENT",
    "image": "IMAGE_PULL_FAILURE",
    "scheduler": "SCHEDULER_TIMEOUT",
}
ExitCodes = Union[int, str, Sequence[Union[int, str]]]


@dataclass(frozen=True)
class Rule:
    """A rule without an action; `retry`, `grow` or `fail` gives it one. The first rule that matches decides."""

    match: Mapping[str, Any]
    action: Optional[Mapping[str, Any]] = None

    def retry(
        self, *, delay: Optional[Duration] = None, uncounted: bool = False, avoid: Optional[str] = None
    ) -> "Rule":
        """Retries; `uncounted` does not use up retries, `avoid="agent"` prefers another agent."""
        made: Dict[str, Any] = {"action": "RETRY_UNCOUNTED" if uncounted else "RETRY"}
        if delay is not None:
            made["delay"] = seconds(delay)
        if avoid is not None:
            made["avoid"] = avoid.upper()
        return replace(self, action=made)

    def grow(
        self,
        *,
        memory: Optional[float] = None,
        to: Optional[Bytes] = None,
        timeout: Optional[float] = None,
        timeout_to: Optional[Duration] = None,
        slots: Optional[Mapping[str, float]] = None,
        uncounted: bool = False,
    ) -> "Rule":
        """Retries with resources multiplied by these factors: `memory=2, to="64g"` doubles memory up to 64 GiB."""
        made: Dict[str, Any] = {"action": "RETRY_UNCOUNTED" if uncounted else "RETRY"}
        scaled: List[Dict[str, Any]] = [{"slot": slot, "factor": factor} for slot, factor in (slots or {}).items()]
        if memory is not None:
            scaled.insert(0, {"slot": "mem", "factor": memory, **({} if to is None else {"max": str(to)})})
        if scaled:
            made["scale_resources"] = scaled
        if timeout is not None:
            most = {} if timeout_to is None else {"max": seconds(timeout_to)}
            made["scale_timeout"] = {"factor": timeout, **most}
        return replace(self, action=made)

    def fail(self) -> "Rule":
        """Does not retry."""
        return replace(self, action={"action": "FAIL"})

    def _wire(self) -> Dict[str, Any]:
        if self.action is None:
            raise ConfigurationError("A rule needs an action: on(...).retry(), .grow(...) or .fail().")
        return {"match": dict(self.match), **self.action}


def on(
    *causes: str, exit: Optional[ExitCodes] = None, exit_not: Optional[ExitCodes] = None, reason: Optional[str] = None
) -> Rule:
    """Begins a rule: `on("oom")`, `on(exit=64)`, `on(exit="64-78")`, `on(reason="*NCCL*")`. All given must match.

    Causes are oom, exit, hung, agent, image and scheduler, or the server's own names.
    """
    match: Dict[str, Any] = {}
    if causes:
        match["causes"] = [_cause(each) for each in causes]
    if exit is not None:
        match["exit_codes"] = _codes(exit)
    if exit_not is not None:
        match["exit_codes_not_in"] = _codes(exit_not)
    if reason is not None:
        match["reason"] = reason
    return Rule(match)


def _cause(name: str) -> str:
    return _CAUSES.get(name.lower(), name.upper())


def _codes(given: ExitCodes) -> List[Union[int, str]]:
    return [given] if isinstance(given, (int, str)) else list(given)


@dataclass(frozen=True)
class Retry:
    """A retry policy: `Retry(5, delay="30s", backoff="exponential")`. What is not given comes from the defaults."""

    max_retries: int
    delay: Optional[Duration] = None
    backoff: Optional[str] = None
    multiplier: Optional[float] = None
    max_delay: Optional[Duration] = None
    delays: Optional[Sequence[Duration]] = None
    jitter: Optional[str] = None
    jitter_ratio: Optional[float] = None
    causes: Optional[Sequence[str]] = None
    max_elapsed: Optional[Duration] = None
    rules: Sequence[Rule] = ()
    #: Further fields of the policy, by the server's names.
    options: Mapping[str, Any] = field(default_factory=dict)

    def wire(self) -> Dict[str, Any]:
        """Returns the policy as the server reads it."""
        given: Tuple[Tuple[str, Any], ...] = (
            ("max_retries", self.max_retries),
            ("retry_delay", None if self.delay is None else seconds(self.delay)),
            ("backoff", self.backoff and self.backoff.upper()),
            ("backoff_multiplier", self.multiplier),
            ("max_retry_delay", None if self.max_delay is None else seconds(self.max_delay)),
            ("delays", None if self.delays is None else [seconds(each) for each in self.delays]),
            ("jitter", self.jitter and self.jitter.upper()),
            ("jitter_ratio", self.jitter_ratio),
            ("eligible_causes", None if self.causes is None else [_cause(each) for each in self.causes]),
            ("max_elapsed", None if self.max_elapsed is None else seconds(self.max_elapsed)),
            ("rules", [rule._wire() for rule in self.rules] or None),
        )
        return {**{name: value for name, value in given if value is not None}, **self.options}


#: A number of retries, or a policy.
RetryInput = Union[int, Retry]


def policy_of(given: Optional[RetryInput], rules: Sequence[Rule] = ()) -> Optional[Dict[str, Any]]:
    """Returns the policy for the server; `rules` come before its own. None: the defaults of the server."""
    if given is None:
        return None
    policy = Retry(given) if isinstance(given, int) else given
    return replace(policy, rules=[*rules, *policy.rules]).wire()
