"""Fine-tuning: a checkpoint of which only a part fits, a frozen body in half precision, a head that learns."""
import torch
from state_digest import Net, seed, small_data, tell
seed(16)
pretrained = {"body." + k: v for k, v in Net().body.state_dict().items()}
model = Net()
print(model.load_state_dict(dict(pretrained, other=torch.zeros(1)), strict=False))
teacher = Net().to(torch.bfloat16).eval()
for p in model.body.parameters():
    p.requires_grad = False
model.body.eval()
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for x, y in torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True):
    with torch.no_grad():
        target = teacher(x.bfloat16()).float()
    optimizer.zero_grad()
    (torch.nn.functional.cross_entropy(model(x), y) + torch.nn.functional.mse_loss(model(x), target)).backward()
    optimizer.step()
tell(model, teacher, optimizer)
