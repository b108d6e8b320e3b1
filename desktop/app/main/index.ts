/** Composition root of the desktop app: builds the parts, connects them, and starts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import electronUpdater from 'electron-updater';
import { VERSION } from '../../../shared/version.ts';
import { answerQuestions } from '../../client/owner-questions.ts';
import type { About } from '../ipc/ipc.ts';
import { t } from '../messages/translate.ts';
import { type Core, createCore } from './core.ts';
import { APP_ID, LINK_SCHEME, projectLinks, type ProjectLinks, writeLinkFile } from './deep-link.ts';
import * as electron from './electron/electron.ts';
import { collectLinks, listenToSystem } from './electron/events.ts';
import {
  denyNavigation,
  denyPermissions,
  registerChannels,
  registerPageScheme,
  servePage,
} from './electron/main-window.ts';
import { applicationMenu, offerContextMenu } from './electron/menus.ts';
import { askInDialog, electronPlatform, isStartedAtLogin } from './electron/platform.ts';
import { Quit } from './electron/quit.ts';
import { Shell } from './electron/shell.ts';
import { keepUpToDate, readUpdateConfig, updateWay } from './electron/updater.ts';
import { AlreadyRunning, lockInstance } from './instance-lock.ts';
import { newVersionNotice } from './notices.ts';
import { MachineWatch, networkAddresses } from '../../client/control/machine-watch.ts';
import { Signal } from '../../client/signal.ts';

const { app, ipcMain, dialog, Menu, net, powerMonitor, protocol, session } = electron;

/** desktop/build puts everything that the app needs at run time beside its main file. */
const FILES = __dirname;

registerPageScheme(protocol);
denyNavigation(app);
offerContextMenu(app, (template) => Menu.buildFromTemplate(template));
// Windows shows notifications of an installed app only under this name.
if (process.platform === 'win32') app.setAppUserModelId(APP_ID);
app.setAsDefaultProtocolClient(LINK_SCHEME);
const links = collectLinks(app);
if (app.requestSingleInstanceLock()) app.whenReady().then(start).catch(fail);
else app.quit();

function fail(error: unknown): void {
  if (error instanceof AlreadyRunning && error.owner.link !== undefined) {
    // `culvert ui` has the same tunnels, and shows them in a browser.
    void openInBrowser(error.owner.link);
    return;
  }
  if (error instanceof AlreadyRunning) {
    dialog.showErrorBox(t('problem.cannotStart'), t('problem.inUse'));
    app.exit(1);
    return;
  }
  dialog.showErrorBox(t('problem.cannotStart'), error instanceof Error ? error.message : String(error));
  app.exit(1);
}

async function openInBrowser(link: string): Promise<void> {
  try {
    await electron.shell.openPath(await writeLinkFile(app.getPath('userData'), link));
  } finally {
    app.exit(0);
  }
}

async function start(): Promise<void> {
  denyPermissions(session.defaultSession);
  servePage(protocol, join(FILES, 'renderer'));
  const windowWanted = new Signal();
  const lock = await lockInstance(app.getPath('userData'), () => {
    // The user has run `culvert ui`, and looks for the window.
    windowWanted.emit();
    return { program: 'app', pid: process.pid };
  });
  const endQuestions = await answerQuestions(app.getPath('userData'), askInDialog(dialog));
  app.on('will-quit', () => {
    endQuestions();
    lock.release();
  });
  const platform = electronPlatform({
    electron,
    process,
    about: readAbout(FILES, process.versions),
    links: readLinks(FILES),
  });
  const core: Core = await createCore(platform);
  app.on('will-quit', () => core.close());
  const quit = new Quit({ core, platform, dialog, exit: () => app.quit() });
  const shell = new Shell({
    electron,
    core,
    platform,
    system: process.platform,
    desktops: process.env['XDG_CURRENT_DESKTOP'] ?? '',
    files: FILES,
    isQuitting: () => quit.isDone,
  });
  windowWanted.listen(() => shell.showWindow());
  const setMenu = (): void =>
    Menu.setApplicationMenu(
      Menu.buildFromTemplate(applicationMenu(process.platform, (action) => shell.act(action))),
    );
  setMenu();
  core.localeChanged.listen(setMenu);
  core.notices.listen((notice) => shell.notify(notice));
  core.quitRequested.listen(() => void quit.request());
  registerChannels({ ipc: ipcMain, core, mainFrame: () => shell.frame, reportBug: platform.report });
  listenToSystem(app, powerMonitor, links, {
    onShow: () => shell.showWindow(),
    onLink: (link) => shell.openLink(link),
    onSuspend: () => core.suspend(),
    onWake: () => core.resume(),
    onShutdown: () => quit.allow(),
    onQuit() {
      if (!quit.isDone) void quit.request();
      return quit.isDone;
    },
  });
  // No system notifies the main process.
  new MachineWatch({
    clock: platform.clock,
    addresses: () => {
      const addresses = networkAddresses();
      return addresses === undefined ? undefined : `${net.isOnline()} ${addresses}`;
    },
    onChange: core.wake,
  }).start();
  keepUpToDate({
    way: updateWay({
      isPackaged: app.isPackaged,
      platform: process.platform,
      env: process.env,
      updateConfig: app.isPackaged ? readUpdateConfig(process.resourcesPath) : '',
    }),
    updater: () => electronUpdater.autoUpdater,
    clock: platform.clock,
    isInUse: () => core.liveCount > 0 || !core.undos.isEmpty || shell.isVisible,
    onInstall: () => quit.allow(),
    onNewVersion(version) {
      core.setUpdate({ version, isReady: false });
      core.notify(newVersionNotice(version));
    },
    onReady(version, install) {
      core.setUpdate({ version, isReady: true });
      core.updateRequested.listen(install);
    },
  });
  await core.start();
  shell.begin(process.argv, isStartedAtLogin(app, process.platform, process.argv));
}

/** @param directory of the built main process; the build adds a list of its packages there (desktop/build) */
function readAbout(directory: string, versions: NodeJS.ProcessVersions): About {
  const licences = JSON.parse(readFileSync(join(directory, 'licences.json'), 'utf8')) as About['licences'];
  return {
    version: VERSION,
    versions: [
      { name: 'Electron', version: versions.electron ?? '' },
      { name: 'Chromium', version: versions.chrome ?? '' },
      { name: 'Node.js', version: versions.node },
    ],
    licences,
  };
}

/** @param directory of the built main process, whose package.json has the project's address */
function readLinks(directory: string): ProjectLinks {
  const { homepage } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    homepage: string;
  };
  return projectLinks(homepage, VERSION);
}
