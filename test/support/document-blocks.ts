import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../guard/source-files.ts'

/** A fenced block of the documentation. */
export interface DocumentBlock {
  /** Path from the root of the repository. */
  page: string
  line: number
  /** The heading above it, without its marks. */
  heading: string
  language: string
  text: string
}

type Place = Partial<Pick<DocumentBlock, 'page' | 'heading' | 'language'>>

/** Which test runs which blocks. A block without a test, or with two, fails test/guard/documentation.test.ts. */
export const TESTS_OF_BLOCKS: Readonly<Record<string, readonly Place[]>> = {
  'test/e2e/backup.test.ts': [
    { page: 'docs/operation.md', heading: 'Of the embedded database' },
    { page: 'docs/operation.md', heading: 'Of a database of your own' },
  ],
  'test/e2e/database-user.test.ts': [{ page: 'docs/operation.md', heading: 'Database' }],
  'test/contract/graphql/relay.test.ts': [{ language: 'graphql' }, { page: 'docs/errors.md', language: 'json' }],
  'test/e2e/remote/checkpoints.test.ts': [{ page: 'docs/checkpoints.md' }],
  'test/e2e/remote/upload.test.ts': [{ page: 'docs/uploads.md' }],
  'test/e2e/command-line/groups.test.ts': [{ page: 'docs/groups.md' }],
  'test/e2e/remote/outputs.test.ts': [{ page: 'docs/outputs.md' }],
  'test/e2e/remote/gpus.test.ts': [{ page: 'docs/gpus.md' }],
  'test/e2e/installed.test.ts': [{ page: 'docs/client.md', language: 'js' }],
  'test/e2e/python.test.ts': [
    { page: 'docs/python.md' },
    { page: 'docs/webhooks.md', language: 'python' },
    { page: 'docs/webhooks.md', language: 'js' },
  ],
  'test/e2e/readme-tour.test.ts': [
    { page: 'README.md', heading: 'Tour' },
    { page: 'docs/command-line.md', language: 'sh' },
    { page: 'docs/deployments.md', language: 'sh' },
    { page: 'docs/executors.md', language: 'sh' },
    { page: 'docs/graphql.md', language: 'sh' },
    { page: 'docs/operation.md', heading: 'Stop or slow retries' },
    { page: 'docs/rest.md', language: 'sh' },
    { page: 'docs/scheduling.md', language: 'sh' },
    { page: 'docs/security.md', heading: 'Tokens' },
    { page: 'docs/subscriptions.md', language: 'sh' },
    { page: 'docs/troubleshooting.md', language: 'sh' },
  ],
  'test/e2e/remote/remote-agents.test.ts': [
    { page: 'docs/agents.md', language: 'sh' },
    { page: 'docs/agents.md', language: 'ini' },
  ],
  'test/e2e/containers.test.ts': [{ page: 'docs/containers.md' }],
  'test/e2e/container-images.test.ts': [{ page: 'docs/installation.md', heading: 'Containers' }],
  'test/e2e/slurm.test.ts': [{ page: 'docs/slurm.md', heading: 'Partition, account, QOS and constraint' }],
  'test/e2e/slurm-example.test.ts': [
    { page: 'docs/slurm.md', heading: 'Set-up' },
    { page: 'docs/slurm.md', heading: 'Example: 2,000 jobs, of which 15 % fail in six ways' },
  ],
  'test/e2e/secrets.test.ts': [{ page: 'docs/security.md', heading: 'Secrets', language: 'sh' }],
  'test/guard/architecture.test.ts': [
    { page: 'docs/architecture.md', language: 'mermaid' },
    { page: 'docs/architecture.md', heading: 'Layout' },
  ],
  'test/guard/documentation.test.ts': [
    { page: 'README.md', heading: 'Reprise', language: 'sh' },
    { page: 'README.md', heading: 'How it works', language: 'mermaid' },
    { page: 'docs/concepts.md', language: 'mermaid' },
    { page: 'docs/upgrading.md', language: 'sh' },
    { page: 'docs/contributing.md', language: 'sh' },
    { page: 'docs/configuration.md', language: 'ini' },
  ],
  'test/guard/operation.test.ts': [{ page: 'docs/operation.md', language: 'yaml' }],
  'test/guard/retries.test.ts': [{ page: 'docs/retry-policy.md', language: 'json' }],
  'test/integration/agent/agent-program.test.ts': [{ page: 'docs/retry-policy.md', language: 'sh' }],
  'test/guard/security.test.ts': [{ page: 'docs/security.md', language: 'mermaid' }],
  'test/integration/webhook/deliver.test.ts': [{ page: 'docs/webhooks.md', language: 'json' }],
}

/** Every page of the documentation, by its path from the root of the repository. */
export async function documentPages(): Promise<string[]> {
  const docs = await readdir(join(ROOT, 'docs'), { recursive: true })
  const names = docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name.replaceAll('\\', '/')}`)
  return ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...names.toSorted()]
}

/** Every fenced block of them, in its order on the page. */
export async function documentBlocks(): Promise<DocumentBlock[]> {
  return (await Promise.all((await documentPages()).map(blocksOf))).flat()
}

/** The blocks that a test runs. `test`: its path from the root of the repository. */
export async function blocksOfTest(test: string): Promise<DocumentBlock[]> {
  const places = TESTS_OF_BLOCKS[test]
  if (places === undefined) throw new Error(`${test} runs no blocks`)
  return (await documentBlocks()).filter((block) => places.some((place) => stands(block, place)))
}

export function stands(block: DocumentBlock, place: Place): boolean {
  return (Object.keys(place) as (keyof Place)[]).every((key) => block[key] === place[key])
}

async function blocksOf(page: string): Promise<DocumentBlock[]> {
  const lines = (await readFile(join(ROOT, page), 'utf8')).split('\n')
  const blocks: DocumentBlock[] = []
  let heading = ''
  let open: DocumentBlock | undefined
  for (const [index, line] of lines.entries()) {
    if (open !== undefined && /^ *(```|~~~)$/.test(line)) open = undefined
    else if (open !== undefined) open.text += `${line}\n`
    else if (/^[ >]*(```|~~~)/.test(line)) {
      open = { page, line: index + 1, heading, language: line.trim().slice(3), text: '' }
      blocks.push(open)
    } else if (line.startsWith('#')) heading = line.replace(/^#+ /, '')
  }
  return blocks
}
