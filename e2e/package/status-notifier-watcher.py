"""usage: status-notifier-watcher.py 0|1: a desktop's StatusNotifierWatcher without or with a tray, on the session bus."""
import sys
import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

DBusGMainLoop(set_as_default=True)
name = dbus.service.BusName("org.kde.StatusNotifierWatcher", dbus.SessionBus())


class Watcher(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        known = (interface, name) == ("org.kde.StatusNotifierWatcher", "IsStatusNotifierHostRegistered")
        return dbus.Boolean(known and sys.argv[1] == "1")


Watcher(name, "/StatusNotifierWatcher")
print("ready", flush=True)
GLib.MainLoop().run()
