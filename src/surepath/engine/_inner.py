"""How kernels that only other kernels call are compiled: as far as what their callers take in, and no further.

Numba optimises each kernel together with all it calls and makes machine code of it, then does so again in each of its
callers. The machine code of a kernel with no way in from Python is never run: it is the caller's copy that runs. So
here such a kernel is only typed and written down, and the kernel at the top optimises all of them once.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _NoEnvironment:
    """Stands for the machine code that is not made: there is no place in it to write to."""

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set; only errors and Python objects read it, and bare kernels have neither."""


class InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one inner kernel and of those it calls, for callers to take in."""

    def finalize(self) -> None:
        """Take in the code of the kernels called, as it is."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Zero, Numba's sign for a function that Python cannot call."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """Asked for only to set the environment."""
        return _NoEnvironment()

    def serialize_using_object_code(self) -> Any:
        """What is cached on disk: no machine code, so the code itself."""
        return self.serialize_using_bitcode()


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):  # type: ignore[misc]
    """Numba's own lowering, into such a library."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower one kernel."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's own passes but for the lowering."""

    def define_pipelines(self) -> list[Any]:
        """The list of passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(InnerLowering if p is NativeLowering else p, about) for p, about in manager.passes]
        manager.finalize()
        return [manager]
