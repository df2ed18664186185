// The `fluxbus-effects` program: everything but this entry point is in FluxBusEffects, where tests reach it.
import FluxBusEffects

EffectsProgram.main()
