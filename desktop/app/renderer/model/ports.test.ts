import assert from 'node:assert/strict';
import { exampleTunnel } from '../../../testing/views.ts';
import { freePorts, portHint, readPort, suggestedPorts } from './ports.ts';

const vite = { port: 5173, process: 'node', framework: 'Vite' };
const postgres = { port: 5432, process: 'postgres', framework: undefined };
const unknown = { port: 9000, process: undefined, framework: undefined };

describe('ports', () => {
  it('accept a port, or explain what to change', () => {
    assert.equal(readPort(' 3000 '), 3000);
    assert.match(String(readPort('')), /such as 3000/);
    for (const text of ['0', '65536', '30.5', '3e3', '-1', 'web']) {
      assert.match(String(readPort(text)), /from 1 to 65535/, text);
    }
  });

  it('are suggested by number, program and framework', () => {
    const ports = [vite, postgres, unknown];
    assert.deepEqual(suggestedPorts(ports, ''), ports);
    assert.deepEqual(suggestedPorts(ports, '54'), [postgres]);
    assert.deepEqual(suggestedPorts(ports, 'VITE'), [vite]);
    assert.deepEqual(suggestedPorts(ports, 'post'), [postgres]);
  });

  it('include a completely typed port first, and all others after it', () => {
    const many = Array.from({ length: 20 }, (_, index) => ({ ...unknown, port: 9000 + index }));
    const suggested = suggestedPorts(many, '9019').map(({ port }) => port);
    assert.deepEqual(suggested, [9019, 9000, 9001, 9002, 9003, 9004, 9005, 9006]);
  });

  it('exclude ports that a live tunnel forwards to', () => {
    const live = exampleTunnel({ localPort: 5173 });
    const ended = exampleTunnel({ localPort: 5432, status: { name: 'ended', reason: 'stopped', why: '' } });
    assert.deepEqual(freePorts([vite, postgres], [live, ended]), [postgres]);
  });

  it('have a hint about the typed port', () => {
    assert.equal(portHint('5173', [vite]), 'Vite is running');
    assert.equal(portHint('5432', [postgres]), 'postgres is running');
    assert.equal(portHint('9000', [unknown]), 'a program is running');
    assert.equal(portHint('9001', [unknown]), 'nothing listening yet');
    assert.equal(portHint('web', [unknown]), undefined);
  });
});
