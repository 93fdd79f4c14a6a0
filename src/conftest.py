"""Modules that need an extra are left out where it is not installed: their doctests would fail on import."""

from importlib.util import find_spec

_NEEDS = {"tensors": ["torch"], "triton_loops": ["torch", "triton"]}
collect_ignore = [
    f"nearer/kernels/{module}.py" for module, packages in _NEEDS.items() if not all(map(find_spec, packages))
]
