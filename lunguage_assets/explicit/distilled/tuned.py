"""The fine-tuned rung: the encoder itself learns the answers, by the same likelihood as the head. A plain
loop of torch; after each epoch the state is written, so that a kill costs an epoch at most.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.files import replace_file
from lunguage_assets.judges.asking.progress import steps_of
from lunguage_assets.judges.distilled import Head, MaskedEncoder
from lunguage_assets.randomness import Floats, text_hash

LEARNING_RATE, HEAD_RATE, SENTENCES_AT_ONCE = 1e-4, 3e-3, 32


def fine_tune(
    encoder: MaskedEncoder,
    answers: Answers,
    head: Head,
    epochs: int,
    seed: int,
    state: Path,
    what: str,
) -> None:
    """Fine-tune the model of `encoder` in place, from `head`, on sentences that were asked about.

    `state` is the file of the last finished epoch, with which it goes on; `what` is shown. The same seed
    gives the same weights on one machine; another one's arithmetic differs in the last digits.
    """
    import torch

    model, _, device = encoder.loaded
    texts = answers.sentences["sentence"].tolist()
    asked = np.union1d(answers.one, answers.other[answers.other >= 0])
    linear = torch.nn.Linear(len(head.weights), 1).to(device)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(head.weights[None], dtype=torch.float32))
        linear.bias.fill_(head.intercept)
    centre = torch.tensor(head.centre, dtype=torch.float32, device=device)
    groups = [
        {"params": list(model.parameters()), "lr": LEARNING_RATE},
        {"params": list(linear.parameters()), "lr": HEAD_RATE},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = epochs * -(-len(asked) // SENTENCES_AT_ONCE)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: max(0.0, 1.0 - step / steps)
    )
    parts = {
        "model": model,
        "linear": linear,
        "optimizer": optimizer,
        "schedule": schedule,
    }
    scores, begun = np.full(len(texts), head.intercept), 0
    if state.exists():
        kept = torch.load(state, map_location=device, weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(kept[name])
        scores, begun = kept["scores"].numpy(), int(kept["epoch"])
    for epoch in range(begun, epochs):
        torch.manual_seed(
            text_hash(seed, what, epoch) % 2**31
        )  # order and dropout: the same after a kill
        order = torch.randperm(len(asked)).numpy()
        model.train()
        step = steps_of(f"fine-tuning, {what}, epoch {epoch + 1}/{epochs}", len(order))
        for part in range(0, len(order), SENTENCES_AT_ONCE):
            rows = asked[order[part : part + SENTENCES_AT_ONCE]]
            ((number, tokens),) = encoder.batches(
                [texts[row] for row in rows], at_once=SENTENCES_AT_ONCE
            )
            rows = rows[np.array(number)]
            mu = linear((encoder.vectors(tokens) - centre) / head.scale).squeeze(1)
            loss = _loss(mu, rows, answers, scores)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            scores[rows] = mu.detach().cpu().numpy()
            step(len(rows))
        now = {
            **{name: one.state_dict() for name, one in parts.items()},
            "epoch": epoch + 1,
        }
        replace_file(state, _saving(torch, {**now, "scores": torch.tensor(scores)}))
    model.eval()


def _saving(torch: Any, kept: dict[str, Any]) -> Callable[[Any], None]:
    return lambda stream: torch.save(kept, stream)


def _loss(mu: Any, rows: Any, answers: Answers, scores: Floats) -> Any:
    """Minus the log likelihood of the answers about some sentences, by answer; whoever they were compared
    with stays where it was scored last.
    """
    import torch

    at = np.full(len(scores), -1)
    at[rows] = np.arange(len(rows))
    first = np.flatnonzero(at[answers.one] >= 0)
    second = np.flatnonzero((answers.other >= 0) & (at[answers.other] >= 0))
    against = np.where(answers.other >= 0, scores[answers.other], answers.mu)[first]
    place = np.concatenate([at[answers.one[first]], at[answers.other[second]]])
    there = np.concatenate([against, scores[answers.one[second]]])
    sign = np.concatenate([answers.won[first], ~answers.won[second]]) * 2.0 - 1.0
    noise = np.concatenate([answers.noise[first], answers.noise[second]])
    there, sign, noise = (
        torch.tensor(one, dtype=torch.float32, device=mu.device)
        for one in (there, sign, noise)
    )
    ahead = sign * (mu[torch.tensor(place, device=mu.device)] - there) / noise
    return -torch.special.log_ndtr(ahead).mean()
