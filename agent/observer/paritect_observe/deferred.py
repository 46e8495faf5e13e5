"""Values of device tensors, read when they have come to the host by themselves."""
import torch


class Deferred(object):
    """One number. In host memory it is read at once; from a device it is copied beside the program's work, and read
    when the copy is done: nobody waits for it."""
    __slots__ = ("number", "copy", "event")

    def __init__(self, source):
        self.number, self.copy, self.event = None, None, None
        if type(source) in (int, float):
            self.number = float(source)
            return
        if not issubclass(type(source), torch.Tensor) or source.numel() != 1 or source.is_complex():
            return
        plain = source.detach()
        if plain.device.type == "cpu":
            self.number = float(plain.item())
        elif plain.device.type in ("cuda", "npu"):
            self.begin(plain, getattr(torch, plain.device.type))

    def begin(self, plain, device):
        with torch.no_grad():
            copy = torch.empty((), dtype=plain.dtype, pin_memory=True)
            copy.copy_(plain.reshape(()), non_blocking=True)
            event = device.Event()
            event.record()
        self.copy, self.event = copy, event

    def ready(self):
        if self.copy is not None and self.event.query():
            self.number, self.copy, self.event = float(self.copy.item()), None, None
        return self.copy is None


class Queue(object):
    """Records that wait for numbers, in order. write(fields) is called when all of a record's have come."""

    def __init__(self, write, most=256):
        self.write = write
        self.most = most
        self.waiting = []

    def add(self, fields):
        self.waiting.append(fields)
        self.flush()

    def flush(self, last=False):
        while self.waiting:
            fields = self.waiting[0]
            numbers = [one for one in fields.values() if type(one) is Deferred]
            if not all([one.ready() for one in numbers]) and not last and len(self.waiting) <= self.most:
                return
            self.waiting.pop(0)
            self.write({name: one.number if type(one) is Deferred else one for name, one in fields.items()})
