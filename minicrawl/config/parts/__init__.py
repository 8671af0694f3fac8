"""Parts of the settings: each setting is a field with its default, its kind and its help.

selection   which pages are read: budget, order, scope, limits, traps
servers     how servers are asked: politeness, network, access
storage     what is kept of the pages: rendering, store, cluster

To add a setting, add a field to a part and use it in the code:

    delay_s: float | str = setting(
        1.0, either("auto", WAIT), "Time between two requests to a host.", name="delay"
    )

in the part `Politeness` declares the flag `--delay TIME|auto`, the variable `MINICRAWL_DELAY`, the
key `delay` in `[politeness]` of minicrawl.toml, the argument `delay` in Python (`for_` where the
name is a keyword of Python), the help, and an entry of the reference. The name of the field is the
name of the setting, unless `name` says another one: fields have units, names have none. A field
that is not declared by `setting` is a limit in the code that only tests change.

Law: a setting that touches this machine or can weaken a promise has a rule in `weakens`. A value
from a stranger, such as a store, is used only if it weakens nothing.
"""
