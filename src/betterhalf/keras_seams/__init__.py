"""The one place that patches Keras: an import hook and hook points; it decides nothing.

`watch_import` waits for the script's own `import keras`; `install` then puts listeners
between Keras's public methods and the script. What a listener does is its own affair:
`repairing` and `worker` have some.
"""

from betterhalf.keras_seams.importing import watch_import as watch_import
from betterhalf.keras_seams.installing import Installation as Installation
from betterhalf.keras_seams.installing import in_place as in_place
from betterhalf.keras_seams.installing import install as install
from betterhalf.keras_seams.listening import Listener as Listener
from betterhalf.keras_seams.recording import recorded_calls as recorded_calls
