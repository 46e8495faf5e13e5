"""Writes down by itself what the observer is to have seen: facts.json, and checkpoints before and after the first
step."""
import json
import torch
from state_digest import Net, seed, small_data


class Listening(torch.utils.data.Dataset):
    asked = []

    def __init__(self):
        self.data = small_data()

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        self.asked.append(i)
        return self.data[i]


seed(21)
model = Net()
optimizer = torch.optim.SGD([{"params": model.body.parameters()},
                             {"params": model.head.parameters(), "weight_decay": 0.1}],
                            lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
loader = torch.utils.data.DataLoader(Listening(), batch_size=16, shuffle=True)
facts = {"loss": [], "lr": [], "norm": [], "first": [], "evaluated": 0}
torch.save(model.state_dict(), "before.pt")
for epoch in range(2):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        facts["norm"].append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)))
        facts["loss"].append(loss.item())
        facts["lr"].append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
        if len(facts["loss"]) == 1:
            torch.save(model.state_dict(), "after.pt")
    facts["first"].append(Listening.asked[-96:])
    model.eval()
    model.body[3].train()  # one dropout is forgotten
    with torch.no_grad():
        for x, y in torch.utils.data.DataLoader(small_data(), batch_size=32):
            model(x)
            facts["evaluated"] += len(x)
with open("facts.json", "w") as file:
    json.dump(facts, file)
