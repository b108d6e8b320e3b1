/** Distributions as a metric of prom-client, which cannot be given counts from elsewhere. */
import type { Metric } from 'prom-client';
import type { Distribution } from './distribution.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * @param read gives each distribution with its labels; called at each collection
 * @returns a metric to be registered; it holds no values of its own
 */
export function histogram(
  name: string,
  help: string,
  read: () => Iterable<readonly [labels: Labels, distribution: Distribution]>,
): Metric {
  const get = () =>
    Promise.resolve({
      name,
      help,
      type: 'histogram',
      values: [...read()].flatMap(valuesOf),
      aggregator: 'sum',
    });

  function valuesOf([labels, distribution]: readonly [Labels, Distribution]) {
    const { bounds, count, sum } = distribution;
    const buckets = distribution.cumulative().map((value, i) => bucket(String(bounds[i]), value));
    return [
      ...buckets,
      bucket('+Inf', count),
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];

    function bucket(le: string, value: number) {
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value };
    }
  }

  // A registry needs nothing of a metric but its name and this.
  return { name, help, get } as unknown as Metric;
}
