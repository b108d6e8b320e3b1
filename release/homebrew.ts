/** The Homebrew formula of the client, from the single files that a release offers. It has not been run. */
import type { Repository } from './repository.ts';

interface Formula {
  readonly version: string;
  readonly repository: Pick<Repository, 'address'>;
  /** SHA-256 of each compressed program in hex, by its system, such as `macos-arm64` */
  readonly digests: ReadonlyMap<string, string>;
}

/** What Homebrew calls systems and processors. */
const BLOCKS = [
  [
    'macos',
    [
      ['arm64', 'on_arm'],
      ['x64', 'on_intel'],
    ],
  ],
  [
    'linux',
    [
      ['arm64', 'on_arm'],
      ['x64', 'on_intel'],
    ],
  ],
] as const;

/** @returns the formula, with the systems that there is a program for */
export function homebrewFormula({ version, repository, digests }: Formula): string {
  const systems = BLOCKS.flatMap(([os, processors]) => {
    const blocks = processors.flatMap(([processor, block]) => {
      const digest = digests.get(`${os}-${processor}`);
      if (digest === undefined) return [];
      const url = `${repository.address}/releases/download/v${version}/culvert-${os}-${processor}.gz`;
      return [`    ${block} do\n      url "${url}"\n      sha256 "${digest}"\n    end\n`];
    });
    return blocks.length === 0 ? [] : [`  on_${os} do\n${blocks.join('')}  end\n\n`];
  });
  return `class Culvert < Formula
  desc "Client of Culvert, a tunnel relay that you run yourself"
  homepage "${repository.address}"
  version "${version}"
  license "MIT"

${systems.join('')}  def install
    bin.install Dir["culvert-*"].fetch(0) => "culvert"
    generate_completions_from_executable(bin/"culvert", "completion")
    (man1/"culvert.1").write Utils.safe_popen_read(bin/"culvert", "man")
  end

  test do
    assert_equal "culvert #{version}", shell_output("#{bin}/culvert --version").strip
  end
end
`;
}
