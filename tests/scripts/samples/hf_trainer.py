from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments, set_seed


def main():
    set_seed(42)
    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    raw = load_dataset("wikitext", "wikitext-2-raw-v1")

    def tokenize(batch):
        return tokenizer(batch["text"], truncation=True, max_length=512, padding="max_length")

    data = raw.map(tokenize, batched=True)
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, bf16=True, learning_rate=5e-5)
    trainer = Trainer(model=model, args=args, train_dataset=data["train"], eval_dataset=data["validation"],
                      data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
    trainer.train()
    trainer.evaluate()


if __name__ == "__main__":
    main()
