import type { RouteDeclaration } from '../../domain/deployment/handlers.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { Queryable } from '../../store/database.ts'
import { claimRoutes, type ClaimedRoute } from '../../store/sql/deployment/claim-routes.sql.ts'
import type { RouteFinding, RouteHandler } from './deployment-kinds.ts'

/** How long this server has been checking the health of routes, in milliseconds. */
export type Watched = () => number

/** A handler of routes: `find` judges each route separately; `also` writes for the whole batch. */
export function handleRoutes(
  declaration: RouteDeclaration,
  options: {
    wakes: readonly WakeTopic[]
    find(route: ClaimedRoute): RouteFinding | undefined
    also?(tx: Queryable, routes: readonly ClaimedRoute[]): Promise<readonly WakeTopic[]>
  },
): (watched: Watched) => RouteHandler {
  return (watched) => ({
    declaration,
    wakes: options.wakes,
    agentsOf: () => [],
    claim: (tx, { limit }) => claimRoutes(tx, declaration, { limit, watchedMs: watched() }),
    async execute(tx, routes) {
      const wakes = (await options.also?.(tx, routes)) ?? []
      return { wakes, findings: routes.flatMap((route) => options.find(route) ?? []) }
    },
  })
}
