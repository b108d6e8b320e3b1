import assert from 'node:assert/strict';
import { cell, profileTables, wanPlot } from './report.ts';

describe('a cell of the results', () => {
  const rows: readonly [text: string, ...Parameters<typeof cell>][] = [
    ['20.0 (1.00)', [10, 30, 20], [10, 10, 40]],
    ['20.0', [10, 30, 20]],
    ['25.0 (0.50), 1 of 3 failed', [null, 30, 20], [10, null, 40]],
    ['failed', [null, null], [1, 1]],
    ['4.00', [4], []],
    ['4.00', [4], [0]],
    ['', []],
  ];
  for (const [text, ...given] of rows)
    it(`is "${text}" for ${JSON.stringify(given)}`, () => assert.equal(cell(...given), text));
});

describe('the results', () => {
  it('have a table for each measured profile, with a row for each measure and no ratio of recoveries', () => {
    const [download, cut] = ['home/20 MB down, MB/s', 'home/200 again after a cut of 20 s, s'];
    const tables = profileTables({
      [`${download}/culvert`]: [3],
      [`${download}/direct`]: [2],
      [`${download}/ssh`]: [null],
      [`${cut}/culvert`]: [1],
      [`${cut}/direct`]: [1],
    });
    const [title, , , , head, , ...rows] = tables.replaceAll(/ +/g, ' ').split('\n');
    assert.deepEqual(
      [title, head, ...rows],
      [
        '### home',
        '| | culvert | culvert h1 | ssh | direct |',
        '| 20 MB down, MB/s | 3.00 (1.50) | | failed | 2.00 |',
        '| 200 again after a cut of 20 s, s | 1.00 | | | 1.00 |',
      ],
    );
  });

  it('have a picture with the median of the rounds of a page, and a dash for what failed', () => {
    const page = 'far/page of 300 modules, s';
    const picture = wanPlot({ [`${page}/culvert`]: [6, 2, 3], [`${page}/ssh`]: [null] });
    const texts = [...picture.matchAll(/>([^<>]+)<\/text>/g)].map(([, text]) => text);
    const at = texts.indexOf('far: page, s');
    assert.deepEqual(texts.slice(at, at + 5), ['far: page, s', '3.00', '–', '–', '–']);
  });
});
