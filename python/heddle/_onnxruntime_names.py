"""The names of ONNX Runtime's Python package (1.31), each with what becomes of it here: all of them, in this one place.

`works`: it does what it does there. `accepted`: it may be given, and changes nothing; the remark says why that is right.
`absent`: its use raises `heddle.Error` (python.not_there); the remark says what to do instead. docs/python.md has the table
that `table()` makes of this.
"""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Name:
    state: str  # works, accepted, absent
    remark: str = ""


def _works(names: str) -> dict[str, Name]:
    return {name: Name("works") for name in names.split()}


def _accepted(why: str, names: str) -> dict[str, Name]:
    return {name: Name("accepted", why) for name in names.split()}


def _absent(instead: str, names: str) -> dict[str, Name]:
    return {name: Name("absent", instead) for name in names.split()}


_ONE_PROVIDER = "leave it out: everything runs on the CPU, by heddle itself"
_DENSE = "give dense arrays; a sparse format can be read by an operator of your own (docs/language.md)"
_OWN_MEMORY = "leave it out: heddle allocates and reuses memory itself"
_WEIGHTS = "store weights in the model, or in files beside it (external data)"
_KEPT = "leave it out: compiled programs are kept on disk by themselves; heddle.use_cache(folder) says where"

#: By what has the name: the module, or one of its classes.
NAMES: dict[str, dict[str, Name]] = {
    "onnxruntime": {
        **_works("InferenceSession SessionOptions RunOptions OrtValue OrtDevice OrtDeviceVendorId IOBinding NodeArg "
                 "ModelMetadata GraphOptimizationLevel ExecutionMode ExecutionOrder get_device get_available_providers "
                 "get_all_providers get_build_info get_version_string has_collective_ops copy_tensors print_debug_info "
                 "set_global_thread_pool_sizes"),
        **_accepted("heddle logs nothing", "set_default_logger_severity set_default_logger_verbosity"),
        **_accepted("there is no telemetry", "disable_telemetry_events"),
        **_accepted("there are no libraries of a GPU to load", "preload_dlls"),
        **_absent("leave it out: there is no telemetry", "enable_telemetry_events"),
        **_absent("merge the adapter into the model when it is exported", "AdapterFormat LoraAdapter"),
        **_absent(_KEPT, "ModelCompiler OrtCompileApiFlags OrtEpContextData OrtEpContextDataBuffer"),
        **_absent(_OWN_MEMORY, "OrtAllocatorType OrtArenaCfg OrtMemType OrtMemoryInfo OrtMemoryInfoDeviceType "
                  "OrtDeviceMemoryType create_and_register_allocator create_and_register_allocator_v2"),
        **_absent(_ONE_PROVIDER, "OrtEpAssignedNode OrtEpAssignedSubgraph OrtEpDevice OrtExecutionProviderDevicePolicy "
                  "OrtHardwareDevice OrtHardwareDeviceType OrtSyncStream get_ep_devices "
                  "register_execution_provider_library unregister_execution_provider_library cuda_version"),
        **_absent(_WEIGHTS, "OrtExternalInitializerInfo"),
        **_absent(_DENSE, "SparseTensor OrtSparseFormat"),
        **_absent("session.io_binding() makes one", "SessionIOBinding"),
        **_absent("give the seed to the node: operators of random numbers take one as an attribute", "set_seed"),
        **_absent("all that is refused is a heddle.Error, whose diagnostics have codes", "capi import_capi_exception"),
        **_absent("heddle.__version__ and heddle.build_info() say what this build is",
                  "onnxruntime_validation package_name version"),
        **_absent("import contextlib", "contextlib"),
    },
    "InferenceSession": {
        **_works("run run_async run_with_iobinding run_with_ort_values io_binding get_inputs get_outputs get_modelmeta "
                 "get_overridable_initializers get_providers get_provider_options set_providers get_session_options "
                 "end_profiling get_profiling_start_time_ns create_ortvalue_from_shape_and_type"),
        **_accepted("there is one provider, and nothing to fall back to", "enable_fallback disable_fallback"),
        **_absent("run_with_ort_values takes the same in a dict", "run_with_ortvaluevector"),
        **_absent(_ONE_PROVIDER, "get_input_epdevices get_provider_graph_assignment_info set_ep_dynamic_options "
                  "release_captured_graph"),
        **_absent("all tensors are in the CPU's memory", "get_input_memory_infos get_output_memory_infos"),
        **_absent("leave it out: nothing is tuned by trials", "get_tuning_results set_tuning_results"),
    },
    "SessionOptions": {
        **_works("intra_op_num_threads use_per_session_threads enable_profiling profile_file_prefix add_provider "
                 "has_providers add_free_dimension_override_by_name add_session_config_entry get_session_config_entry"),
        **_accepted("a plan places all buffers before it runs, whatever this says",
                    "enable_cpu_mem_arena enable_mem_pattern enable_mem_reuse"),
        **_accepted("all threads work on one launch after another, in an order of the plan",
                    "execution_mode execution_order inter_op_num_threads"),
        **_accepted("results are within the bounds of docs/equality.md at every level", "graph_optimization_level"),
        **_accepted("results are always the same, bit for bit", "use_deterministic_compute"),
        **_accepted("heddle logs nothing", "log_severity_level log_verbosity_level logid"),
        **_absent(_WEIGHTS,
                  "add_initializer add_external_initializers add_external_initializers_from_files_in_memory"),
        **_absent("name the dimension: add_free_dimension_override_by_name", "add_free_dimension_override_by_denotation"),
        **_absent(_ONE_PROVIDER,
                  "add_provider_for_devices set_provider_selection_policy set_provider_selection_policy_delegate"),
        **_absent(_KEPT, "set_ep_context_data_read_func clear_ep_context_data_read_func"),
        **_absent("`heddle graph MODEL --json FILE` writes the graph; session.svg() draws it", "optimized_model_filepath"),
        **_absent("write the operator as a template, and give its library: InferenceSession(..., library=...)",
                  "register_custom_ops_library"),
        **_absent("session.cancel(), from another thread, ends a compile", "set_load_cancellation_flag"),
    },
    "RunOptions": {
        **_works("terminate add_run_config_entry get_run_config_entry"),
        **_accepted("heddle logs nothing", "log_severity_level log_verbosity_level logid"),
        **_accepted("what is computed has the same results", "only_execute_path_to_fetches"),
        **_absent("merge the adapter into the model when it is exported", "add_active_adapter"),
    },
    "OrtValue": {
        **_works("ortvalue_from_numpy ortvalue_from_numpy_with_onnx_type ortvalue_from_shape_and_type from_dlpack numpy "
                 "shape data_type element_type device_name data_ptr tensor_size_in_bytes has_value is_tensor "
                 "is_sparse_tensor is_tensor_sequence update_inplace"),
        **_absent(_DENSE, "as_sparse_tensor ort_value_from_sparse_tensor"),
    },
    "OrtDevice": _works("make device_id device_type device_vendor_id device_mem_type"),
    "IOBinding": {
        **_works("bind_cpu_input bind_input bind_ortvalue_input bind_output bind_ortvalue_output clear_binding_inputs "
                 "clear_binding_outputs copy_outputs_to_cpu get_outputs"),
        **_accepted("everything is there when a run ends", "synchronize_inputs synchronize_outputs"),
        **_absent("get_outputs gives a list of OrtValues", "get_outputs_as_ortvaluevector"),
    },
    "NodeArg": _works("name shape type"),
    "ModelMetadata": _works("producer_name graph_name domain description graph_description version custom_metadata_map"),
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A configuration entry: the values that may be given (empty: all), and why they change nothing."""

    values: tuple[str, ...]
    why: str


_NO_CHOICE = "there is one way to do it here, with the same results"

SESSION_ENTRIES: dict[str, Entry] = {
    **dict.fromkeys(("session.intra_op.allow_spinning", "session.inter_op.allow_spinning", "session.force_spinning_stop",
                     "session.dynamic_block_base"), Entry((), "how threads wait and share work changes no result")),
    **dict.fromkeys(("session.use_env_allocators", "session.use_device_allocator_for_initializers",
                     "session.disable_prepacking"), Entry((), "memory is planned by heddle itself")),
    **dict.fromkeys(("session.disable_quant_qdq", "session.disable_double_qdq_remover", "session.enable_quant_qdq_cleanup",
                     "session.qdqisint8allowed"), Entry((), "quantised models are computed as they are written")),
    **dict.fromkeys(("session.disable_aot_function_inlining", "session.strict_shape_type_inference",
                     "session.disable_cpu_ep_fallback", "session.use_ort_model_bytes_directly",
                     "session.use_ort_model_bytes_for_initializers", "optimization.disable_specified_optimizers",
                     "optimization.minimal_build_optimizations"), Entry((), _NO_CHOICE)),
    "session.load_model_format": Entry(("ONNX",), "models are ONNX files"),
    "session.set_denormal_as_zero": Entry(("0",), "denormal numbers are kept"),
    "session.intra_op_thread_affinities": Entry(("",), "threads are not bound to cores"),
    "session.record_ep_graph_assignment_info": Entry(("0",), "there is one provider"),
    "optimization.enable_gelu_approximation": Entry(("0",), "nothing is approximated"),
    "mlas.enable_gemm_fastmath_arm64_bfloat16": Entry(("0",), "nothing is approximated"),
    "ep.context_enable": Entry(("0",), "there is one provider"),
}
RUN_ENTRIES: dict[str, Entry] = {
    "memory.enable_memory_arena_shrinkage": Entry((), "there is no arena"),
    "disable_synchronize_execution_providers": Entry((), "there is one provider"),
    "gpu_graph_id": Entry(("-1",), "there is no GPU"),
}


def table() -> str:
    """The names as a table of Markdown."""
    lines = ["| of | works | accepted, changes nothing | not there |", "|---|---|---|---|"]
    for owner, names in NAMES.items():
        cells = [", ".join(sorted(name for name, said in names.items() if said.state == state))
                 for state in ("works", "accepted", "absent")]
        lines.append(f"| `{owner}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
