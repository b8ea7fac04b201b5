// The training operations for Python; native_ops.py makes autograd functions of them. Each group binds itself in its own
// file.
#include "bindings/training.h"

#include "bindings/module.h"
#include "training/edge_index.h"

void bind_rows_ops(nb::module_& m);
void bind_aggregate_ops(nb::module_& m);
void bind_cell_ops(nb::module_& m);
void bind_choice_ops(nb::module_& m);
void bind_labels_ops(nb::module_& m);

void bind_training(nb::module_& m) {
    using namespace anycsp;
    using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    nb::module_ sub = m.def_submodule("ops", "Training ops: forward and backward, float32 and float64.");
    nb::class_<EdgeIndex>(sub, "EdgeIndex")
        .def(
            "__init__",
            [](EdgeIndex* self, const Indices& variable_start, const Indices& constraint_start,
               const Indices& edge_value) {
                auto view = [](const Indices& a) { return SharedArray<int64_t>(nullptr, a.data(), a.size()); };
                new (self) EdgeIndex(view(variable_start), view(constraint_start), view(edge_value));
            },
            nb::arg("variable_start"), nb::arg("constraint_start"), nb::arg("edge_value"));
    bind_rows_ops(sub);
    bind_aggregate_ops(sub);
    bind_cell_ops(sub);
    bind_choice_ops(sub);
    bind_labels_ops(sub);
}
