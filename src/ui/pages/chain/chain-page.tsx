import { getRouteApi } from '@tanstack/react-router'

const route = getRouteApi('/chains/$chainId')

export function ChainPage() {
  const { chainId } = route.useParams()
  return <h1>{chainId}</h1>
}
