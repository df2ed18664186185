// The `fluxbus` command: everything but this entry point is in FluxBusCommand, where tests reach it.
import FluxBusCommand

CommandLineEntry.run()
