"""Fine-tunes the encoder of a distilled model by the likelihood that its head has.

docs/distilled.md. A plain loop of torch. After each epoch the state is written, so that
a kill costs an epoch at most; order and dropout are the same after it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lunguage_assets.explicit.distilled.answers import NO_SENTENCE, Answers
from lunguage_assets.explicit.distilled.encoder import MaskedEncoder
from lunguage_assets.explicit.distilled.model import Head
from lunguage_assets.files import replace_file
from lunguage_assets.judges.asking.progress import steps_of
from lunguage_assets.randomness import Floats, Integers, text_hash

LEARNING_RATE = 1e-4
HEAD_LEARNING_RATE = 3e-3
SENTENCES_AT_ONCE = 32


def fine_tune(
    encoder: MaskedEncoder,
    answers: Answers,
    head: Head,
    epochs: int,
    seed: int,
    state: Path,
    name: str,
) -> None:
    """Fine-tune the model of an encoder in place.

    The same seed gives the same weights on one machine; another one's arithmetic
    differs in the last digits.

    Args:
        encoder: whose model learns.
        answers: from which it learns; sentences that none is about take no part.
        head: with which it begins.
        epochs: through all sentences.
        seed: of order and dropout.
        state: file of the last finished epoch, with which it goes on.
        name: of what is held out; shown to people, and part of the seed.
    """
    import torch

    model, _, device = encoder.loaded
    texts = answers.sentences["sentence"].tolist()
    asked_sentences = answers.asked_sentences
    linear = torch.nn.Linear(len(head.weights), 1).to(device)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(head.weights[None], dtype=torch.float32))
        linear.bias.fill_(head.intercept)
    centre = torch.tensor(head.centre, dtype=torch.float32, device=device)
    optimizer = torch.optim.AdamW(
        [
            {"params": list(model.parameters()), "lr": LEARNING_RATE},
            {"params": list(linear.parameters()), "lr": HEAD_LEARNING_RATE},
        ],
        weight_decay=0.01,
    )
    steps = epochs * -(-len(asked_sentences) // SENTENCES_AT_ONCE)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: max(0.0, 1.0 - step / steps)
    )
    learners = {
        "model": model,
        "linear": linear,
        "optimizer": optimizer,
        "schedule": schedule,
    }
    scores = np.full(len(texts), head.intercept)
    finished_epochs = 0
    if state.exists():
        stored = torch.load(state, map_location=device, weights_only=True)
        for learner_name, learner in learners.items():
            learner.load_state_dict(stored[learner_name])
        scores = stored["scores"].numpy()
        finished_epochs = int(stored["epoch"])
    for epoch in range(finished_epochs, epochs):
        # Seeded anew for each epoch, so that one after a kill draws what it would have
        # drawn without it.
        torch.manual_seed(text_hash(seed, name, epoch) % 2**31)
        order = torch.randperm(len(asked_sentences)).numpy()
        model.train()
        step = steps_of(f"fine-tuning, {name}, epoch {epoch + 1}/{epochs}", len(order))
        for start in range(0, len(order), SENTENCES_AT_ONCE):
            drawn = asked_sentences[order[start : start + SENTENCES_AT_ONCE]]
            ((numbers, tokens),) = encoder.batches(
                [texts[row] for row in drawn], batch_size=SENTENCES_AT_ONCE
            )
            rows = drawn[np.array(numbers)]
            inputs = (encoder.vectors(tokens) - centre) / head.scale
            mu = linear(inputs).squeeze(1)
            loss = _loss(mu, rows, answers, scores)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            # An opponent of another batch is compared with what it was scored last.
            scores[rows] = mu.detach().cpu().numpy()
            step(len(rows))
        states: dict[str, Any] = {
            learner_name: learner.state_dict()
            for learner_name, learner in learners.items()
        }
        states["epoch"] = epoch + 1
        states["scores"] = torch.tensor(scores)
        replace_file(state, partial(torch.save, states))
    model.eval()


def _loss(mu: Any, rows: Integers, answers: Answers, scores: Floats) -> Any:
    """Compute minus the log likelihood of the answers about some sentences, by answer.

    Whoever they were compared with stays where it was scored last.

    Args:
        mu: tensor of the sentences' scores, shape (rows,).
        rows: their numbers.
        answers: of all sentences.
        scores: last score of every sentence.
    """
    import torch

    # A comparison of two sentences says something of each, as long as it is in the
    # batch: once as the first sentence, once as the other, with won and lost exchanged.
    position = np.full(len(scores), -1)
    position[rows] = np.arange(len(rows))
    sentence = np.concatenate([answers.sentence, answers.other_sentence])
    has_won = np.concatenate([answers.won, ~answers.won])
    noises = np.tile(answers.noise, 2)
    opponent_of_first = np.where(
        answers.is_of_pair, scores[answers.other_sentence], answers.phrase_mu
    )
    opponents = np.concatenate([opponent_of_first, scores[answers.sentence]])
    # A phrase has no score to be learnt.
    is_in_batch = (position[sentence] >= 0) & (sentence != NO_SENTENCE)

    def tensor(values: Floats) -> Any:
        return torch.tensor(values[is_in_batch], dtype=torch.float32, device=mu.device)

    opponent = tensor(opponents)
    sign = tensor(has_won * 2.0 - 1.0)
    noise = tensor(noises)
    scored = torch.tensor(position[sentence[is_in_batch]], device=mu.device)
    margin = sign * (mu[scored] - opponent) / noise
    return -torch.special.log_ndtr(margin).mean()
