/**
 * What a column of a table is described by. Columns have the names of the fields of records, and queries give and get
 * their values as the program has them: the connections to both databases store booleans as 0 and 1, and JSON as text.
 */

/** A column, and the type of its values. */
export class Column<Value> {
  declare readonly value: Value;
  readonly type: 'text' | 'integer' | 'bigint';
  /** gives a value as the program has it, if the database has another */
  readonly decode: ((written: never) => unknown) | undefined;
  readonly isNullable: boolean;
  /** what follows the type when the table is created */
  readonly rule: string;

  constructor(type: Column<Value>['type'], decode?: Column<Value>['decode'], isNullable = false, rule = '') {
    this.type = type;
    this.decode = decode;
    this.isNullable = isNullable;
    this.rule = rule;
  }

  get orNull(): Column<Value | null> {
    return new Column<Value | null>(this.type, this.decode, true, this.rule);
  }

  get primary(): Column<Value> {
    return this.#with('primary key');
  }

  get unique(): Column<Value> {
    return this.#with('unique');
  }

  /** Refers to the `id` of a table. */
  of(table: string): Column<Value> {
    return this.#with(`references ${table} (id)`);
  }

  #with(rule: string): Column<Value> {
    return new Column<Value>(this.type, this.decode, this.isNullable, `${this.rule} ${rule}`);
  }
}

export const text = <Value extends string = string>() => new Column<Value>('text');
/** A whole number below 2^31, which every database can store. */
export const integer = <Value extends number = number>() => new Column<Value>('integer');
/** A time, or a count of bytes, seconds or requests. */
export const big = () => new Column<number>('bigint');
export const flag = () => new Column<boolean>('integer', (written: number) => written === 1);
export const json = <Value extends object>() =>
  new Column<Value>('text', (written: string) => JSON.parse(written) as unknown);

/** The row of a table with these columns. */
export type RowOf<Columns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never;
};

/** A value as a database stores it. */
export function stored(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
