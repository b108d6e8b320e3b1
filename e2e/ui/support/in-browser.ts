/** Loaded with `mocha --require`: the scenarios of this run use the window that `culvert ui` serves. */
import { BROWSER_DRIVER } from './browser-driver.ts';
import { replaceDriver } from './fixture.ts';

replaceDriver(BROWSER_DRIVER);
