"""The policy is set where nothing has been built yet, in the script's own words.

A case is a script before and after its edit: `-` and `+` mark what is on one side only.
"""

import textwrap

import pytest


CASES = {
    "after the docstring, the future and the comments": '''
      """Doc."""

      from __future__ import annotations

      # numbers
      import numpy as np
      import keras as k

    + k.mixed_precision.set_global_policy("mixed_bfloat16")
    +
      x = k.ops.ones(3)
    ''',
    "before the first use, though imports follow it": """
      import keras
    +
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
      keras.utils.set_random_seed(1)
      import os
    """,
    "behind the clear_session that would reset it": """
      import keras

      keras.backend.clear_session()
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
      m = keras.Model()
    """,
    "keras beside names from keras": """
      import os
      # layers
    + import keras
      from keras.layers import Dense
    +
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
    """,
    "keras beside names from tensorflow.keras": """
    + from tensorflow import keras
      from tensorflow.keras.layers import Dense
    +
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
    """,
    "tf.keras where the script has tf": """
      import tensorflow as tf
      from tensorflow.keras.layers import Dense
    +
    + tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    """,
    "keras, not tf.keras, where tf is there for its data": """
      import tensorflow as tf
      import keras
    +
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
      d = tf.data
    """,
    "Keras 2 by its own package": """
      import tf_keras as keras
    +
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
    """,
    "an import that falls back": """
      try:
          import keras
      except ImportError:
          from tensorflow import keras
      import numpy
    +
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
    """,
    "an import inside the function that trains": """
      def main():
          import keras
    +
    +     keras.mixed_precision.set_global_policy("mixed_bfloat16")

          keras.Model()


      main()
    """,
    "an existing call in another spelling": """
      from tensorflow.keras import mixed_precision
      policy = mixed_precision.Policy('mixed_float16')
    - mixed_precision.set_global_policy(policy)
    + mixed_precision.set_global_policy('mixed_bfloat16')
    """,
    "an existing call with a keyword": """
      import keras
    - keras.config.set_dtype_policy(policy="float32")
    + keras.config.set_dtype_policy(policy="mixed_bfloat16")
    """,
    "an existing call behind arguments and data": """
      import argparse
      from tensorflow import keras

      def parse():
          return argparse.ArgumentParser().parse_args()

      arguments = parse()
      train, test = keras.datasets.mnist.load_data()
    - keras.mixed_precision.set_global_policy(arguments.policy)
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
    """,
    "an existing call that a later reset undoes is not enough": """
      import keras
    - keras.mixed_precision.set_global_policy("mixed_float16")
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
      keras.utils.clear_session()
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
      m = keras.Model()
    """,
    "an existing call behind a condition is not enough": """
      import keras

    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
    +
      if FAST:
    -     keras.config.set_dtype_policy("mixed_float16")
    +     keras.config.set_dtype_policy("mixed_bfloat16")
      m = keras.Model()
    """,
    "an existing call that comes too late is not enough": """
      import keras
    +
    + keras.mixed_precision.set_global_policy("mixed_bfloat16")
      m = keras.Model()
    - keras.config.set_dtype_policy("float32")
    + keras.config.set_dtype_policy("mixed_bfloat16")
    """,
    "an existing call in the main guard": """
      import keras

      if __name__ == '__main__':
    -     keras.config.set_dtype_policy('mixed_float16')
    +     keras.config.set_dtype_policy('mixed_bfloat16')
          keras.Model()
    """,
    "the script's own quotes": """
      import keras
    +
    + keras.mixed_precision.set_global_policy('mixed_bfloat16')
    - m = keras.Sequential([keras.layers.Dense(1, 'relu')])
    + m = keras.Sequential([keras.layers.Dense(1, 'relu', dtype='float32')])
      m.fit()
    """,
}


@pytest.mark.parametrize("case", CASES)
def test_the_policy_is_set(edit, case):
    lines = textwrap.dedent(CASES[case]).strip("\n").split("\n")
    before = "".join(line[2:] + "\n" for line in lines if line[:1] != "+")
    after = "".join(line[2:] + "\n" for line in lines if line[:1] != "-")

    assert edit(before.encode()).decode() == after
