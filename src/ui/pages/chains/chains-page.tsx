import { Link } from '@tanstack/react-router'
import { useQuery } from 'urql'
import { UiChainsDocument } from './chains.generated.ts'

export function ChainsPage() {
  const [{ data, error }] = useQuery({ query: UiChainsDocument, variables: { first: 100 } })
  if (error) return <p role="alert">{error.message}</p>
  return (
    <>
      <h1>Chains</h1>
      <ul>
        {data?.chains.edges.map(({ node }) => (
          <li key={node.id}>
            <Link to="/chains/$chainId" params={{ chainId: node.chainId }}>
              {node.name}
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
