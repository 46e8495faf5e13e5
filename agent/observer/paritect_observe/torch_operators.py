"""The innermost module calls of one forward, in order, with what they took and gave; and of the backward that follows
what gradients came to the last operation of each and what it made of them."""
import torch

from . import describe, fingerprint, guard, record

CALLS_MAX = 4000
BYTES_MAX = 4 << 30
TENSORS_MAX = 8

SITE = guard.site("operators")


class Operators(object):
    """Global hooks for the time of one forward: instances stay as they are."""

    def __init__(self):
        self.root = None
        self.hooks = []
        self.nodes = []     # of autograd, whose gradients are looked at; dropped with the first backward
        self.backward = []

    def begin(self, root, modules, at):
        self.root, self.at = root, at
        self.names = {id(one): name for name, one in modules}
        self.keep = [one for _, one in modules]  # so that no id is used again meanwhile
        self.calls, self.counts, self.open, self.bytes = [], {}, [], 0
        self.nodes, self.backward, self.backward_root = [], [], root.id
        hooks = torch.nn.modules.module
        self.hooks = [hooks.register_module_forward_pre_hook(self.before),
                      hooks.register_module_forward_hook(self.after)]

    def before(self, module, _):
        guard.guarded(SITE, self.note_begin, module)

    def after(self, module, inputs, output):
        guard.guarded(SITE, self.note_end, module, inputs, output)

    def note_begin(self, module):
        if self.open:
            self.open[-1][1] = True
        self.open.append([module, False])

    def note_end(self, module, inputs, output):
        calls_others = True
        while self.open:
            one, calls_others = self.open.pop()
            if one is module:
                break
        if not calls_others and len(self.calls) < CALLS_MAX and self.bytes < BYTES_MAX:
            self.calls.append(self.call(module, inputs, output))
            self.follow(self.calls[-1], output)
        if module is self.keep[0]:  # the model itself, whose beginning was before these hooks
            self.finish(self.root)

    def call(self, module, inputs, output):
        count = self.counts.get(id(module), 0)
        self.counts[id(module)] = count + 1
        return {"name": self.names.get(id(module)), "class": describe.dotted(type(module)), "call": count,
                "inputs": self.tensors(inputs), "outputs": self.tensors(output)}

    def follow(self, call, output):
        """The node of autograd that made the output: unlike a module's backward hook one on it changes no graph."""
        from .torch_model import tensors_of
        for _, tensor in tensors_of((output,), {})[:1]:
            node = tensor.grad_fn
            # A module that hands on what it got has no node of its own.
            if node is not None and hasattr(node, "register_hook") and all(node is not one for one in self.nodes[-64:]):
                self.nodes.append(node)
                node.register_hook(self.looking_at(call))

    def looking_at(self, call):
        told = []

        def look(made, came):
            if not told:
                told.append(True)
                guard.guarded(SITE, self.note_backward, call, made, came)
        return look

    def note_backward(self, call, made, came):
        if self.nodes and self.bytes < 2 * BYTES_MAX:
            self.backward.append({"name": call["name"], "class": call["class"], "call": call["call"],
                                  "inputs": self.tensors(came), "outputs": self.tensors(made)})

    def backward_done(self):
        if self.nodes:
            calls, self.nodes, self.backward = self.backward, [], []
            record.write_list("backward", calls, 100, root=self.backward_root, at=self.at, total=len(calls))

    def tensors(self, thing):
        from .torch_model import tensors_of
        out = []
        for path, tensor in tensors_of((thing,) if not isinstance(thing, tuple) else thing, {})[:TENSORS_MAX]:
            self.bytes += tensor.numel() * tensor.element_size()
            out.append(dict(fingerprint.of(tensor, fingerprint.DATA, small=True), path=path))
        return out

    def finish(self, root):
        if self.root is None or root is not self.root:
            return
        for hook in self.hooks:
            hook.remove()
        calls, self.root, self.hooks, self.keep, self.open = self.calls, None, [], [], []
        record.write_list("operators", calls, 100, root=root.id, at=self.at, total=len(calls))
