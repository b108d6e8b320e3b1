/** The used parts of `package-lock.json`: every package by its path. */
export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  /** address of the package's file */
  readonly resolved?: string;
  /** its digest */
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Packages for other systems that a lock file lacks, or lists without address and digest. npm writes such a file if the
 * registry does not offer them, and `npm ci` rejects it.
 */
export function missingFromLock({ packages }: Lock): string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        !isWhole(packages[`${path}/node_modules/${name}`]) && !isWhole(packages[`node_modules/${name}`]),
    ),
  );
}

function isWhole(locked: LockedPackage | undefined): boolean {
  return locked?.resolved !== undefined && locked.integrity !== undefined;
}
