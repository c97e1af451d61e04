"""What the options that say how trees are compared come to: for ``evaluate`` and ``report``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbrparse.evaluate.evalb.parameters import EvalbParameters
    from mbrparse.evaluate.evaluation import Settings


def settings_of(options: dict[str, Any], parameters: EvalbParameters | None, **more: Any) -> Settings:
    """Settings from a command's options; ``parameters`` are those of --evalb, ``more`` other settings.

    Raises MbrparseError where the options mean nothing together.
    """
    from mbrparse.evaluate.evaluation import Settings
    from mbrparse.evaluate.gold import Comparison
    from mbrparse.evaluate.profiles.profile_table import chosen_profile

    comparison = Comparison(options["form"], options["crossing_reference"], options["unaries"])
    profile = chosen_profile(options["profile"], comparison, parameters)
    if options["keep_punctuation"]:
        profile = profile.with_punctuation()
    asked, named = options["criterion"], options["criteria"]
    criteria = profile.shown(options["everything"])
    if named is not None:
        wanted = [profile.called(name.strip().replace("-", "_")) for name in named.split(",")]
        criteria = tuple(dict.fromkeys([*wanted, *profile.context]))
    return Settings(
        profile.how,
        criteria,
        criterion=None if asked is None else asked.replace("-", "_"),
        profile=options["profile"],
        **{key: options[key] for key in ("average", "baseline", "resamples", "seed")},
        **more,
    )
