import FluxBusWeb
