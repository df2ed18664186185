// The daemon without state types of its own: everything but this entry point is in FluxBusDaemon, which custom
// daemons use in the same way.
import FluxBusDaemon

FluxBusDaemon.main()
