/** Starts a built main process on a fake Electron, prints as JSON what it did, and ends. */
import { fakeElectron, loadBundle } from '../../desktop/testing/fake-electron.ts';

const [, , main = '', directory = ''] = process.argv;
const { module, ipc, windows, schemes, urls, tooltips, shortcuts, errors, shown } = fakeElectron(directory);
process.argv.splice(2);
loadBundle(main, module);
await shown;
const channels = [...ipc.handlers.keys()];
const preferences = windows.map(({ webPreferences }) => webPreferences);
process.stdout.write(
  JSON.stringify({ channels, preferences, schemes, urls, tooltips, shortcuts, errors }),
  () => process.exit(),
);
