"""Batches are dictionaries, the model takes keywords and gives an object; weight decay by group; linear warm-up."""
import collections
import inspect
import torch
from state_digest import seed, tell
Output = collections.namedtuple("Output", "loss logits")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 32)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)
        self.norm = torch.nn.LayerNorm(32)
        self.lm_head = torch.nn.Linear(32, 50, bias=False)
        self.lm_head.weight = self.embed.weight

    def forward(self, input_ids=None, labels=None):
        logits = self.lm_head(self.norm(self.encoder(self.embed(input_ids))))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()) if labels is not None else None
        return Output(loss, logits)


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        ids = (torch.arange(10) * (i + 3)) % 50
        return {"input_ids": ids, "labels": ids.roll(1)}


seed(8)
model = Model()
assert list(inspect.signature(model.forward).parameters) == ["input_ids", "labels"]
plain = [p for n, p in model.named_parameters() if p.ndim >= 2]
bare = [p for n, p in model.named_parameters() if p.ndim < 2]
optimizer = torch.optim.AdamW([{"params": plain, "weight_decay": 0.01}, {"params": bare, "weight_decay": 0.0}], lr=5e-4)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
loader = torch.utils.data.DataLoader(Tokens(), batch_size=8, sampler=torch.utils.data.RandomSampler(Tokens()))
for epoch in range(2):
    for inputs in loader:
        model.train()
        loss = model(**inputs).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        model.zero_grad()
    model.eval()
    with torch.no_grad():
        print("eval", float(sum(model(**inputs).loss for inputs in loader)))
tell(model, optimizer)
