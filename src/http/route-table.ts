/** A route of a server; its path may have `{parameters}`, each of one segment, but for `{path}`, which may have slashes. */
export interface ServedRoute {
  method: string
  path: string
}

/** Names requests by their route, for labels of metrics, because clients can invent any number of paths. */
export interface RouteTable {
  /** Returns the path of the route as it was registered, or `other` if no route matches. */
  routeOf(path: string): string
  methodOf(method: string): string
}

export const OTHER = 'other'
/** Methods that are recorded under their name for every route. */
const METHODS_ANYWHERE = ['GET', 'HEAD', 'OPTIONS', 'POST']

export function createRouteTable(routes: readonly ServedRoute[]): RouteTable {
  const methods = new Set([...METHODS_ANYWHERE, ...routes.map(({ method }) => method)])
  const paths = [...new Set(routes.map(({ path }) => path))]
  const plain = new Set(paths.filter((path) => !path.includes('{')))
  const patterns = paths.filter((path) => path.includes('{')).map((path) => ({ path, pattern: patternOf(path) }))
  return {
    routeOf(path) {
      if (plain.has(path)) return path
      return patterns.find(({ pattern }) => pattern.test(path))?.path ?? OTHER
    },
    methodOf: (method) => (methods.has(method) ? method : OTHER),
  }
}

function patternOf(path: string): RegExp {
  const segments = path
    .split('/')
    .map((segment) =>
      segment.startsWith('{') ? (segment === '{path}' ? '.+' : '[^/]+') : segment.replaceAll('.', '\\.'),
    )
  return new RegExp(`^${segments.join('/')}$`)
}
