import assert from 'node:assert/strict';
import { configFolder } from './folders.ts';

describe('configFolder', () => {
  const cases: [NodeJS.Platform, Record<string, string>, string, string][] = [
    ['linux', {}, '/home/ada', '/home/ada/.config/culvert'],
    ['linux', { XDG_CONFIG_HOME: '/etc/ada' }, '/home/ada', '/etc/ada/culvert'],
    ['linux', { XDG_CONFIG_HOME: 'relative' }, '/home/ada', '/home/ada/.config/culvert'],
    ['freebsd', { XDG_CONFIG_HOME: '' }, '/home/ada', '/home/ada/.config/culvert'],
    ['darwin', { XDG_CONFIG_HOME: '/x' }, '/Users/ada', '/Users/ada/Library/Application Support/Culvert'],
    ['win32', { APPDATA: 'D:\\Roaming' }, 'C:\\Users\\ada', 'D:\\Roaming\\Culvert'],
    ['win32', {}, 'C:\\Users\\ada', 'C:\\Users\\ada\\AppData\\Roaming\\Culvert'],
  ];
  for (const [platform, env, home, folder] of cases) {
    it(`is ${folder}`, () => assert.equal(configFolder({ platform, env, home }), folder));
  }
});
