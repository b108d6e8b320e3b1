// Programs started with `--import` of this file show the wall time of a test: the real one, and as many ms more as the
// file TEST_CLOCK says. Timers are not affected.
import { readFileSync } from 'node:fs';

const RealDate = Date;
const now = () => RealDate.now() + Number(readFileSync(process.env.TEST_CLOCK, 'utf8'));

globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }

  static now() {
    return now();
  }
};
