"""The module's own training_step, run inside optimizer.step by a closure; nobody calls the module itself."""
import torch
from state_digest import Net, seed, small_data, tell


class Task(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Net()

    def training_step(self, batch):
        return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

    def validation_step(self, batch):
        return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)


seed(7)
task = Task()
optimizer, schedule = task.configure_optimizers()
loader = torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True)
task.eval()
with torch.no_grad():  # the sanity check before training
    task.validation_step(next(iter(loader)))
for epoch in range(2):
    task.train()
    for batch in loader:
        def closure():
            loss = task.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            return loss
        optimizer.step(closure=closure)
    schedule.step()
    task.eval()
    with torch.inference_mode():
        for batch in loader:
            task.validation_step(batch)
tell(task, optimizer)
