"""How kernels are put together: each is optimised once, in the kernel that Python calls, as if written there.

Numba optimises each kernel together with all it calls and makes machine code of it, then does so again in each of its
callers. The machine code of a kernel with no way in from Python is never run: it is the caller's copy that runs. So
such an inner kernel is only typed and written down here, and the outer kernel at the top optimises all of them once.

An outer kernel also knows what Numba never says: nobody else calls the kernels it took in. One that is called from
a single place is then written into that place, and its arguments, dozens of numbers for a few NamedTuples of arrays,
need not be copied for every call.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
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


class OuterLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel that Python calls and of all it took in."""

    def _optimize_final_module(self) -> None:
        """Numba's own optimisation, after saying that what was taken in is used here alone."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):  # type: ignore[misc]
    """Numba's own lowering, into an inner library."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower one kernel."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class OuterLowering(NativeLowering):  # type: ignore[misc]
    """Numba's own lowering, into an outer library."""

    _name = "outer_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower one kernel."""
        state.library = OuterLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()  # machine code goes to the disk
        return bool(super().run_pass(state))


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's own passes but for the lowering."""

    lowering = InnerLowering

    def define_pipelines(self) -> list[Any]:
        """The list of passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(self.lowering if p is NativeLowering else p, about) for p, about in manager.passes]
        manager.finalize()
        return [manager]


class OuterCompiler(InnerCompiler):
    """The same with the other lowering."""

    lowering = OuterLowering
