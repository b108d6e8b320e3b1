/** Checks that all languages have every text with the same placeholders, and that every text is used somewhere. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { placesOf } from '../../testing/texts.ts';
import { DE } from './de.ts';
import { EN } from './en.ts';

const ROOT = new URL('../../', import.meta.url);
/** Texts that are the same in German. */
const SAME = new Set([
  'access.unsetIn',
  'bench.body',
  'body.way.hex',
  'body.way.text',
  'doctor.at',
  'domain.domain',
  'latency.milliseconds',
  'latency.minutes',
  'latency.seconds',
  'lock.kind.tokens',
  'lock.part.links',
  'lock.part.tokens',
  'lock.showTokens',
  'log.chip.webhooks',
  'name.label',
  'others.offline',
  'options.upstreamHttp1',
  'palette.group.ports',
  'common.findOutWhy',
  'port.label',
  'project.fieldProblem',
  'project.problem',
  'project.sentence',
  'request.curl',
  'settings.account.relay',
  'settings.app',
  'signIn.relay',
  'signature.secret.github',
  'signature.secret.stripe',
  'state.online',
  'tray.status.online',
  'tunnels.qr',
  'tunnels.timeExample',
]);

function sources(): { path: string; text: string }[] {
  return globSync('{app,client}/**/*.{ts,tsx}', {
    cwd: ROOT,
  })
    .filter((path) => !path.includes('.test.') && path !== 'client/messages.ts')
    .map((path) => ({ path, text: readFileSync(new URL(path, ROOT), 'utf8') }));
}

describe('the catalogue of texts', () => {
  const english = Object.entries(EN);
  const german: Readonly<Record<string, string>> = DE;

  it('has the same texts in all languages', () => {
    assert.deepEqual(Object.keys(DE).toSorted(), Object.keys(EN).toSorted());
  });

  it('uses the same placeholders in all languages', () => {
    const others = english.filter(([key, message]) => {
      return placesOf(message).join() !== placesOf(german[key] ?? '').join();
    });
    assert.deepEqual(others, []);
  });

  it('is translated', () => {
    const same = english.filter(([key, message]) => message === german[key]).map(([key]) => key);
    assert.deepEqual(same.toSorted(), [...SAME].toSorted());
  });

  it('has no unused texts', () => {
    const all = sources()
      .map(({ text }) => text)
      .join('\n');
    // Those of a kind are named by what they have in common.
    const kinds = [...all.matchAll(/\bt\(`([\w.]+\.)\$\{/g)].map(([, kind = '']) => kind);
    const unsaid = Object.keys(EN).filter(
      (key) => !all.includes(`'${key}'`) && !kinds.some((kind) => key.startsWith(kind)),
    );
    assert.deepEqual(unsaid, []);
  });

  it('has no quotes that ICU would interpret', () => {
    const quoted = [...english, ...Object.entries(german)].filter(([, message]) => /'[{}'<#]/.test(message));
    assert.deepEqual(quoted, []);
  });
});
