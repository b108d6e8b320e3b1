/** `npm run test:ui:repeat -- 20`: runs the UI suite this many times in a row, until the first failure. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const times = Number(process.argv[2] ?? '20');
if (!Number.isInteger(times) || times < 1) {
  console.error('Give how many times the suite is to run, such as 20.');
  process.exit(2);
}

for (let run = 1; run <= times; run += 1) {
  const start = performance.now();
  const { code, text } = await runSuite();
  const seconds = Math.round((performance.now() - start) / 1000);
  const [passing = '0'] = /\d+(?= passing)/.exec(text) ?? [];
  const [failing = '0'] = /\d+(?= failing)/.exec(text) ?? [];
  console.log(`run ${run} of ${times}: ${passing} passed, ${failing} failed, ${seconds} s`);
  if (code !== 0) {
    console.log(text);
    process.exit(1);
  }
}

async function runSuite(): Promise<{ code: number | null; text: string }> {
  // In a shell, because npm is a script on Windows.
  const suite = spawn('npm run --silent test:ui', { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  suite.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  suite.stderr.setEncoding('utf8').on('data', (part: string) => (text += part));
  const [code] = (await once(suite, 'close')) as [number | null];
  return { code, text };
}
