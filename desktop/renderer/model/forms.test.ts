import assert from 'node:assert/strict';
import { exampleTunnel } from '../../testing/views.ts';
import { createChoices, defaultChoice, extendChoices, readLifetime } from './lifetime.ts';
import { freePorts, portHint, readPort, suggestedPorts } from './ports.ts';

const HOUR = 3600;
const vite = { port: 5173, process: 'node', framework: 'Vite' };
const postgres = { port: 5432, process: 'postgres', framework: undefined };
const unknown = { port: 9000, process: undefined, framework: undefined };

describe('ports', () => {
  it('reads a port, or says what to change', () => {
    assert.equal(readPort(' 3000 '), 3000);
    assert.match(String(readPort('')), /such as 3000/);
    for (const text of ['0', '65536', '30.5', '3e3', '-1', 'web']) {
      assert.match(String(readPort(text)), /from 1 to 65535/, text);
    }
  });

  it('suggests by number, program and framework', () => {
    const ports = [vite, postgres, unknown];
    assert.deepEqual(suggestedPorts(ports, ''), ports);
    assert.deepEqual(suggestedPorts(ports, '54'), [postgres]);
    assert.deepEqual(suggestedPorts(ports, 'VITE'), [vite]);
    assert.deepEqual(suggestedPorts(ports, 'post'), [postgres]);
  });

  it('suggests a port that is typed whole first, and all others after it', () => {
    const many = Array.from({ length: 20 }, (_, index) => ({ ...unknown, port: 9000 + index }));
    const suggested = suggestedPorts(many, '9019').map(({ port }) => port);
    assert.deepEqual(suggested, [9019, 9000, 9001, 9002, 9003, 9004, 9005, 9006]);
  });

  it('leaves out what a live tunnel leads to', () => {
    const live = exampleTunnel({ localPort: 5173 });
    const ended = exampleTunnel({ localPort: 5432, status: { name: 'ended', reason: 'stopped', why: '' } });
    assert.deepEqual(freePorts([vite, postgres], [live, ended]), [postgres]);
  });

  it('says what is at the typed port', () => {
    assert.equal(portHint('5173', [vite]), 'Vite is here');
    assert.equal(portHint('5432', [postgres]), 'postgres is here');
    assert.equal(portHint('9000', [unknown]), 'A program is here');
    assert.equal(portHint('9001', [unknown]), 'Nothing listens here yet');
    assert.equal(portHint('web', [unknown]), undefined);
  });
});

describe('lifetime', () => {
  it('offers what the relay allows, its default among it', () => {
    assert.deepEqual(
      createChoices(HOUR, 24 * HOUR).map(({ ttl }) => ttl),
      ['15m', '1h', '8h', '24h'],
    );
    assert.deepEqual(createChoices(2 * HOUR, 8 * HOUR)[0], { ttl: '', label: '2 h' });
    assert.equal(defaultChoice(HOUR), '1h');
    assert.equal(defaultChoice(2 * HOUR), '');
  });

  it('offers to extend as far as the relay allows', () => {
    const labels = (expiresAt: number) => extendChoices(expiresAt, 8 * HOUR, 0).map(({ label }) => label);
    assert.deepEqual(labels(0), ['15 min', '1 h', '8 h']);
    assert.deepEqual(labels(1000), ['15 min', '1 h']);
    assert.deepEqual(labels(8 * HOUR * 1000), []);
  });

  const typed: readonly [text: string, ttl: string][] = [
    ['90m', '90m'],
    ['1h 30 min', '1h30m'],
    ['2 hours', '2h'],
    ['1.5 h', '1.5h'],
    ['45 seconds', '45s'],
    ['2 days', '48h'],
    ['1d 12h', '24h12h'],
  ];
  for (const [text, ttl] of typed) {
    it(`reads "${text}"`, () => assert.deepEqual(readLifetime(text, 168 * HOUR), { ttl }));
  }

  it('explains what it cannot read, and what is too long', () => {
    for (const text of ['', '30', 'soon', '0s', '-1h', '1h!']) {
      assert.ok('problem' in readLifetime(text, 168 * HOUR), text);
    }
    assert.deepEqual(readLifetime('9h', 8 * HOUR), { problem: 'The relay allows at most 8 h.' });
  });
});
