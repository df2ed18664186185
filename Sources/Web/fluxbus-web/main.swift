// The `fluxbus-web` program: everything but this entry point is in FluxBusWeb, where tests reach it.
import FluxBusWeb

WebProgram.main()
