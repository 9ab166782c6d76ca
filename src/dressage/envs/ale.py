"""What Gymnasium's Atari layers do, bit for bit, in half the time.

A step asks the emulator only for what becomes part of an observation (`Frames`, `Stack`), and a
reset with a seed no longer loads the game anew (`GameLoader`): that costs 0.12 s, as much as 150
steps of Breakout, whose games last 200 to begin with.
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import wrappers as gymw
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


class GameLoader:
    """Takes the place of an AtariEnv's `load_game`: loads a few times, then restores a saved state.

    All that a seed changes in a freshly loaded game is the generator of ALE's random numbers (they
    decide about sticky actions), which a saved state holds as text. A state for another seed is
    therefore made by writing that seed's generator into it. Whether this holds is looked at with
    the games that are loaded, the first of every environment among them: their states must equal
    those written. Else every game is loaded.
    """

    # of each game that this process plays
    first_states: ClassVar[dict[Any, SeededState]] = {}
    verified: ClassVar[dict[Any, bool]] = {}  # missing: not known yet

    def __init__(self, env: Any) -> None:
        self._ale, self._load = env.ale, env.load_game
        self._game = (env._game, env._game_mode, env._game_difficulty)
        self._loaded = False  # by us

    def __call__(self) -> None:
        seed = self._ale.getInt("random_seed")
        verified = self.verified.get(self._game)
        if verified and self._loaded and seed not in ANY_SEED:
            from ale_py import ALEState

            self._ale.restoreSystemState(ALEState(self.first_states[self._game].of(seed)))
            return
        self._load()
        self._loaded = True
        if verified is not False and seed not in ANY_SEED:
            self._compare(seed, bytes(self._ale.cloneSystemState().serialize()))

    def _compare(self, seed: int, loaded: bytes) -> None:
        first = self.first_states.get(self._game)
        if first is None:
            self.first_states[self._game] = SeededState(seed, loaded)
        elif first.of(seed) != loaded:
            self.verified[self._game] = False
        elif len(loaded) != len(first.bytes):  # of equal length they would show less
            self.verified[self._game] = True


ANY_SEED = (0, -1)  # ALE draws one of its own for these, in some versions


class SeededState:
    """A saved state of ALE in which the random generator can be replaced.

    Strings stand in it after their length, four bytes, lowest first; one within another changes the
    lengths of both.
    """

    def __init__(self, seed: int, saved: bytes) -> None:
        self.bytes, self._text = saved, generator_text(seed)
        self._start = max(saved.rfind(self._text), 0)  # where it is not found, `of` finds no equal
        end = self._start + len(self._text)
        self._lengths = [
            at
            for at in range(self._start - 3)
            if int.from_bytes(saved[at : at + 4], "little") == end - at - 4
        ]

    def of(self, seed: int) -> bytes:
        text = generator_text(seed)
        longer = len(text) - len(self._text)
        head = bytearray(self.bytes[: self._start])
        for at in self._lengths:
            length = int.from_bytes(head[at : at + 4], "little") + longer
            head[at : at + 4] = length.to_bytes(4, "little")
        return bytes(head) + text + self.bytes[self._start + len(self._text) :]


def generator_text(seed: int) -> bytes:
    """A seeded std::mt19937 as C++ writes it: 624 words and the place of the next."""
    state: Any = np.random.RandomState(seed % 2**32).get_state()
    words = state[1]
    return " ".join(map(str, [*words.tolist(), len(words)])).encode()


USED = (  # of an AtariEnv
    "ale",
    "load_game",
    "continuous",
    "sound_obs",
    "_action_set",
    "_frameskip",
    "_game",
    "_game_mode",
    "_game_difficulty",
)


def asks_directly(env: Any) -> bool:
    """Whether nothing stands between us and an AtariEnv that a frame's step would have to pass."""
    while isinstance(env, gymw.OrderEnforcing):
        env = env.env
    return (
        not isinstance(env, gym.Wrapper)
        and all(hasattr(env, name) for name in USED)
        and env._frameskip == 1
        and not (env.continuous or env.sound_obs)
    )


class Frames(gym.Wrapper):  # type: ignore[misc]
    """gymnasium.wrappers.AtariPreprocessing, which has every frame drawn in colour and drops it.

    An observation is the brighter of an action's last two frames, grey, resized: `[size, size]`.
    """

    def __init__(self, env: Any, noop_max: int, frame_skip: int, screen_size: int) -> None:
        super().__init__(env)
        # Gymnasium's layer is asked what it would refuse, and for the space
        twin = gymw.AtariPreprocessing(env, noop_max, frame_skip, screen_size)
        self.observation_space = twin.observation_space
        self._size = twin.screen_size
        self._noop_max, self._frame_skip = noop_max, frame_skip
        game = env.unwrapped
        self._ale, self._actions = game.ale, game._action_set
        game.load_game = GameLoader(game)
        shape = game.observation_space.shape[:2]
        self._newest, self._before = np.empty(shape, np.uint8), np.empty(shape, np.uint8)

    def step(self, action: Any) -> Any:
        total, terminated, truncated = 0.0, False, False
        for frame in range(self._frame_skip):
            reward, terminated, truncated = self._frame(action)
            total += reward
            if terminated or truncated:
                break  # the screens stay those from before, as in Gymnasium's layer
            if frame == self._frame_skip - 2:
                self._ale.getScreenGrayscale(self._before)
            elif frame == self._frame_skip - 1:
                self._ale.getScreenGrayscale(self._newest)
        return self._observation(), total, terminated, truncated, self._info()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        _, info = self.env.reset(seed=seed, options=options)
        game = self.env.unwrapped
        noops = game.np_random.integers(1, self._noop_max + 1) if self._noop_max > 0 else 0
        for _ in range(noops):
            _, terminated, truncated = self._frame(0)
            info.update(self._info())
            if terminated or truncated:
                _, info = self.env.reset(seed=seed, options=options)
        self._ale.getScreenGrayscale(self._newest)
        self._before.fill(0)
        return self._observation(), info

    def _frame(self, action: Any) -> tuple[float, bool, bool]:
        ale = self._ale
        reward = ale.act(self._actions[action], 1.0)
        return reward, ale.game_over(with_truncation=False), ale.game_truncated()

    def _info(self) -> dict[str, int]:
        ale = self._ale
        return {
            "lives": ale.lives(),
            "episode_frame_number": ale.getEpisodeFrameNumber(),
            "frame_number": ale.getFrameNumber(),
        }

    def _observation(self) -> Bytes:
        import cv2

        if self._frame_skip > 1:
            np.maximum(self._newest, self._before, out=self._newest)
        small = cv2.resize(self._newest, self._size, interpolation=cv2.INTER_AREA)
        return np.asarray(small, np.uint8)


class Stack(gym.Wrapper):  # type: ignore[misc]
    """gymnasium.wrappers.FrameStackObservation for arrays: `[frames, …]`, the newest last."""

    def __init__(self, env: Any, frames: int) -> None:
        super().__init__(env)
        self.observation_space = gym.vector.utils.batch_space(env.observation_space, frames)
        self._stack: Bytes = np.zeros(self.observation_space.shape, env.observation_space.dtype)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._stack[:-1] = self._stack[1:]
        self._stack[-1] = obs
        return self._stack.copy(), reward, terminated, truncated, info

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        obs, info = self.env.reset(seed=seed, options=options)
        self._stack[:] = obs
        return self._stack.copy(), info
