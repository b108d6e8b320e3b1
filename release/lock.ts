/** What of `package-lock.json` is read: every package by its path. */
export interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
  >;
}

/**
 * Packages for other systems that a lock file lacks, as one has that was written where a registry does not offer them.
 * `npm ci`, by which releases are built, takes no such file.
 */
export function missingFromLock({ packages }: Lock): string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
}
