import assert from 'node:assert/strict';
import { cell, profileTables, wanPage, wanPlot, WanSamples } from './report.ts';

describe('a cell of the results', () => {
  it('has the median and the median ratio to the same rounds of the reference', () => {
    assert.equal(cell([10, 30, 20], [10, 10, 40]), '20.0 (1.00)');
    assert.equal(cell([10, 30, 20]), '20.0');
  });

  it('counts the rounds that failed, and compares only rounds that both have', () => {
    assert.equal(cell([null, 30, 20], [10, null, 40]), '25.0 (0.50), 1 of 3 failed');
    assert.equal(cell([null, null], [1, 1]), 'failed');
  });

  it('has no ratio without a reference, and nothing without a measure', () => {
    assert.equal(cell([4], []), '4.00');
    assert.equal(cell([4], [0]), '4.00');
    assert.equal(cell([]), '');
  });
});

describe('the results', () => {
  const samples = new WanSamples();
  for (const [system, value] of [
    ['culvert', 3],
    ['direct', 2],
    ['ssh', null],
  ] as const) {
    samples.add('home', '20 MB down, MB/s', system, value);
  }

  it('have a table for each measured profile, with a row for each measure', () => {
    const [, title, , , , head, , row, ...rest] = `\n${profileTables(samples)}`.split('\n');
    assert.equal(title, '### home');
    assert.match(head ?? '', /^\|\s+\| culvert\s+\| culvert h1 \| ssh\s+\| direct \|$/);
    assert.match(row ?? '', /^\| 20 MB down, MB\/s \| 3\.00 \(1\.50\) \|\s+\| failed \| 2\.00\s+\|$/);
    assert.deepEqual(rest, []);
  });

  it('compare no recovery with the reference', () => {
    const recoveries = new WanSamples();
    const measure = '200 again after a cut of 20 s, s';
    for (const system of ['culvert', 'direct']) recoveries.add('far', measure, system, 1);
    assert.match(profileTables(recoveries), /20 s, s \| 1\.00 +\| +\| +\| 1\.00 +\|$/);
  });

  it('have a picture with the median of the rounds of a page, and a dash for what failed', () => {
    const pages = new WanSamples();
    for (const value of [6, 2, 3]) pages.add('far', 'page of 300 modules, s', 'culvert', value);
    pages.add('far', 'page of 300 modules, s', 'ssh', null);
    const texts = [...wanPlot(pages).matchAll(/>([^<>]+)<\/text>/g)].map(([, text]) => text);
    const at = texts.indexOf('far: page, s');
    assert.deepEqual(texts.slice(at, at + 5), ['far: page, s', '3.00', '–', '–', '–']);
  });

  it('are stored round by round', () => {
    const name = 'home/20 MB down, MB/s';
    const stored = { [`${name}/culvert`]: [3], [`${name}/direct`]: [2], [`${name}/ssh`]: [null] };
    assert.deepEqual(JSON.parse(JSON.stringify(samples)), stored);
  });

  it('say that there are none yet', () => {
    const page = wanPage(new WanSamples(), undefined);
    assert.match(page, /## Results\n\nNot measured yet/);
  });
});
