// The training ops for Python; ops.py makes autograd functions of them. Each group binds itself in its own file.
#include "training/edge_index.h"

void bind_rows_ops(nb::module_& m);
void bind_aggregate_ops(nb::module_& m);
void bind_cell_ops(nb::module_& m);
void bind_choice_ops(nb::module_& m);
void bind_labels_ops(nb::module_& m);

void bind_ops(nb::module_& m) {
    using namespace anycsp;
    nb::module_ sub = m.def_submodule("ops", "Training ops: forward and backward, float32 and float64.");
    nb::class_<EdgeIndex>(sub, "EdgeIndex")
        .def(nb::init<const In<int64_t>&, const In<int64_t>&, const In<int64_t>&>(), nb::arg("variable_start"),
             nb::arg("constraint_start"), nb::arg("edge_value"));
    bind_rows_ops(sub);
    bind_aggregate_ops(sub);
    bind_cell_ops(sub);
    bind_choice_ops(sub);
    bind_labels_ops(sub);
}
