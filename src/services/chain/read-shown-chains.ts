import { RepriseError } from '../../domain/errors.ts'
import type { Page } from '../paging/keyset.ts'
import type { PageArguments } from '../paging/page-arguments.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { readChainPage, type WantedOrder } from './chain-page.ts'
import { readChains, type ChainConditions, type ChainRow } from './read-chains.ts'

/** Complete chains, for REST; GraphQL reads only what its query selects. */
export interface ChainRecord extends ChainRow {
  /** The project's name. */
  project: string
}

/** @throws RepriseError SESSION_NOT_FOUND */
export async function readChain(context: ReadContext, chainId: string): Promise<ChainRecord> {
  const [chain] = await withProjects(context, await readChains(context, [chainId]))
  if (!chain) throw new RepriseError('SESSION_NOT_FOUND', `no chain ${chainId}`)
  return chain
}

/** @throws RepriseError VALIDATION_FAILED */
export async function readChainRecords(
  context: ReadContext,
  options: { conditions: ChainConditions; wanted: WantedOrder; args: PageArguments },
): Promise<Page<ChainRecord>> {
  const page = await readChainPage(context, options)
  const nodes = await withProjects(
    context,
    page.edges.map(({ node }) => node),
  )
  return { ...page, edges: page.edges.map(({ cursor }, index) => ({ cursor, node: nodes[index]! })) }
}

async function withProjects({ prisma }: ReadContext, chains: readonly ChainRow[]): Promise<ChainRecord[]> {
  const id = { in: [...new Set(chains.map(({ projectId }) => projectId))] }
  const projects = chains.length === 0 ? [] : await prisma.project.findMany({ where: { id } })
  const names = new Map(projects.map((project) => [project.id, project.name]))
  return chains.map((chain) => ({ ...chain, project: names.get(chain.projectId)! }))
}
