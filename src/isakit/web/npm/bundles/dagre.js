// What the graph uses of dagre.
export {Graph, layout} from "@dagrejs/dagre";
